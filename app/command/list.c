/* The list of commands, in the order of the help. */
#include "command/command.h"

const struct command commands[] = {
    {"serve", NULL, "[--check]", "run the shop: workers, sweeper, cashier",
	command_serve},
    {"sandbox", NULL, "", "run the stand-in payment provider", command_sandbox},
    {"setup", NULL, "--print", "print the settings with their defaults",
	command_setup},
    {"migrate", NULL, "", "bring the database up to date", command_migrate},
    {"item", "add", "SKU --title T --price N --currency C --total N …",
	"put an item on sale", command_item_add},
    {"item", "set", "SKU [--title T] [--price N] [--total N] …",
	"change an item", command_item_set},
    {"item", "show", "SKU [--json]", "show an item and its stock",
	command_item_show},
    {"item", "list", "[--json]", "list the items", command_item_list},
    {"page", NULL, "SKU | --index", "print a ready product page", command_page},
    {"hold", "list", "[--state S] [--item SKU] [--limit N] [--json]",
	"list holds, newest first", command_hold_list},
    {"order", "show", "ord_N | hld_… [--json]",
	"show an order with its payment and events", command_order_show},
    {"event", "list", "[--outcome O] [--limit N] [--json]",
	"list the inbox, newest first", command_event_list},
    {"audit", NULL, "[--json]", "check every promise that a query can check",
	command_audit},
    {NULL, NULL, NULL, NULL, NULL},
};
