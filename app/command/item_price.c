/* What is wrong with a price is told when it is set, not when it is paid. */
#include "command/item_price.h"

#include "base/money.h"
#include "command/command.h"

bool
item_price(const char *text, const char *currency, int64_t per_buyer,
    int64_t *amount)
{
	struct money money;
	struct buf limit = {0};
	const char *why = money_parse(&money, text, currency);
	const char *advice;

	if (why == NULL && !money_price(&money, per_buyer, &limit))
		why = buf_text(&limit);
	if (why != NULL) {
		command_fail(EXIT_USAGE, "--price %s %s: %s", text, currency,
		    why);
		buf_release(&limit);
		return false;
	}
	advice = money_advice(&money);
	if (advice != NULL)
		command_fail(EXIT_DONE, "--price %s %s is taken; note that %s",
		    text, currency, advice);
	*amount = money.amount;
	return true;
}
