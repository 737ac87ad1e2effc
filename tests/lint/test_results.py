"""Ignored results of calls that write."""

import pytest
import results


def lines(tree, body, path="firmware-host/a.cc"):
    return [finding.line for finding in results.check(tree({path: "void f() {\n" + body + "\n}\n"}))]


@pytest.mark.parametrize("body", [
    "write(fd, a, n);",
    "  ::fsync(fd);",
    "if (x) std::rename(a, b);",
    "if (x) {\n} else fdatasync(fd);",
    "(void)ftruncate(fd, 0);",
    "static_cast<void>(write(fd, a, n));",
    "const ssize_t ignored = write(fd, a, n);",
    "for (;;) ::fchmod(fd, 0600);",
    "std::error_code ignored;\nfs::permissions(a, fs::perms::owner_all, ignored);",
    "std::filesystem::create_directories(a, ignored);",
    'std::ofstream(path) << "x";',
    "write(fd, text.data(),\n      text.size());",
])
def test_finds(tree, body):
    assert len(lines(tree, body)) == 1


@pytest.mark.parametrize("body", [
    "if (write(fd, a, n) != n) return false;",
    "const ssize_t written = ::write(fd, a, n);",
    "return rename(a, b) == 0;",
    "ok = fsync(fd) == 0 && ok;",
    "log_.write(Level::info, x);",
    "file->write(a);",
    "// write(fd, a, n);",
    "unlink(path);",
    "fs::remove(a, ignored);",
    "fs::permissions(a, all, error);\nif (error) return error;",
    "std::ofstream file(path);\nfile << 1;\nreturn file.flush().good();",
    "ssize_t write(int fd);",
])
def test_accepts(tree, body):
    assert lines(tree, body) == []


def test_a_function_of_the_file_itself_is_not_the_system_call(tree):
    assert lines(tree, "}\nvoid write(std::string bytes) {\n  write(rest);") == []


def test_tests_and_core_may(tree):
    assert lines(tree, "write(fd, a, n);", "tests/unit/a.cc") == []
