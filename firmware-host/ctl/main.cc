#include <iostream>

#include "firmware-host/ctl/app.h"

int main(int argc, char** argv) { return berth::run_berthctl(argc, argv, std::cout, std::cerr); }
