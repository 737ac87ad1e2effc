#include "firmware-host/agent/app.h"

int main(int argc, char** argv) { return berth::run_agent(argc, argv); }
