#include "firmware-host/gateway/app.h"
#include "plugins/registry.h"

int main(int argc, char** argv) { return berth::run_gateway(argc, argv, berth::in_tree_registry()); }
