/* The program: everything is in parse.c and the rows of commands.c. */
#include "cmd/cmd.h"

int main(int argc, char **argv)
{
    iso_catch_bus_errors();
    return iso_cmd_main(argc, argv);
}
