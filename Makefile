# Lastpair. `make help` lists what there is to do.
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif

PORT ?= 8080
PAY_PORT ?= 8081
RUN_DIR ?= .run
PREFIX ?= /usr/local
DESTDIR ?=
SUITES ?=
export PORT PAY_PORT RUN_DIR SUITES

# SANITIZE=address,undefined or SANITIZE=thread: a build folder of its own.
SANITIZE ?=
comma := ,
ifeq ($(SANITIZE),)
B := build
else ifeq ($(SANITIZE),thread)
B := build-tsan
else
B := build-asan
endif
export BUILD = $(B)

CC := gcc
CPPFLAGS = -Iapp -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE \
	-DLASTPAIR_SHARE='"$(PREFIX)/share/lastpair"'
CFLAGS = -std=c17 -g -Wall -Wextra -Wpedantic -Wshadow -Wconversion \
	-Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror \
	-Wformat -Werror=format-security -fPIE -pthread
LDFLAGS = -pie -pthread -Wl,-z,relro,-z,now -Wl,--as-needed
ifeq ($(SANITIZE),)
CFLAGS += -O2 -fstack-protector-strong -D_FORTIFY_SOURCE=2
else
CFLAGS += -O1 -fno-omit-frame-pointer -fno-sanitize-recover=all \
	-fsanitize=$(SANITIZE)
LDFLAGS += -fsanitize=$(SANITIZE)
endif

# Asked once, and only when something is compiled: the packages come first.
PACKAGES := libpq libcurl openssl yajl inih
lazy = $(eval $(1) := $$(shell $(2)))$($(1))
PKG_CFLAGS = $(call lazy,PKG_CFLAGS,pkg-config --cflags $(PACKAGES) cmocka)
PKG_LIBS = $(call lazy,PKG_LIBS,pkg-config --libs $(PACKAGES))
PKG_TEST = $(call lazy,PKG_TEST,pkg-config --libs cmocka)
LIBS = $(PKG_LIBS) -lfcgi

SRC := $(sort $(shell find app -name '*.c'))
OBJ := $(SRC:%.c=$(B)/obj/%.o)
LIB_OBJ := $(filter-out $(B)/obj/app/main.o,$(OBJ))
# A unit test is NAME_test.c; other files there are fakes and helpers of all.
TEST_SRC := $(sort $(shell find tests/unit -name '*_test.c' 2>/dev/null))
FAKE_SRC := $(filter-out $(TEST_SRC), \
	$(sort $(shell find tests/unit -name '*.c' 2>/dev/null)))
FAKE_OBJ := $(FAKE_SRC:%.c=$(B)/obj/%.o)
TESTS := $(TEST_SRC:tests/%.c=$(B)/tests/%)
TESTS_CFLAGS = -Itests/unit -Itests/bench -Wno-unused-parameter

# Programs that measure; what else is there is the load engine.
BENCH_SRC := $(sort $(wildcard tests/bench/*.c))
BENCH_MAIN := $(filter $(addprefix tests/bench/,load.c empty.c drill.c), \
	$(BENCH_SRC))
BENCH_OBJ := $(patsubst %.c,$(B)/obj/%.o,$(filter-out $(BENCH_MAIN), \
	$(BENCH_SRC)))

.PHONY: all
all: $(B)/lastpair $(TESTS) ## builds build/lastpair and the unit tests

$(B)/lastpair: $(B)/obj/app/main.o $(B)/liblastpair.a
	@echo "building $@"
	@$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

# Made anew, so that an object whose source is gone does not stay in it.
$(B)/liblastpair.a: $(LIB_OBJ)
	@rm -f $@.new
	@ar -rcsD $@.new $^
	@mv -f $@.new $@

$(B)/libfakes.a: $(FAKE_OBJ)
	@mkdir -p $(@D)
	@rm -f $@
	@ar -rcsD $@ $^

$(B)/libbench.a: $(BENCH_OBJ)
	@mkdir -p $(@D)
	@rm -f $@
	@ar -rcsD $@ $^

$(B)/bench/%: $(B)/obj/tests/bench/%.o $(B)/libbench.a $(B)/liblastpair.a
	@mkdir -p $(@D)
	@echo "building $@"
	@$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/obj/app/%.o: app/%.c Makefile | packages
	@mkdir -p $(@D)
	@echo "compiling $<"
	@$(CC) $(CPPFLAGS) $(PKG_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/obj/tests/%.o: tests/%.c Makefile | packages
	@mkdir -p $(@D)
	@echo "compiling $<"
	@$(CC) $(CPPFLAGS) $(PKG_CFLAGS) $(CFLAGS) $(TESTS_CFLAGS) -MMD -MP \
		-c -o $@ $<

# A fake takes the place of the function that it is named like, also where the
# rest of that file is wanted.
$(B)/tests/%: $(B)/obj/tests/%.o $(B)/libfakes.a $(B)/liblastpair.a
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) -Wl,-z,muldefs -o $@ $^ $(LIBS) $(PKG_TEST)

$(B)/tests/unit/bench/%: $(B)/obj/tests/unit/bench/%.o $(B)/libbench.a \
	$(B)/liblastpair.a
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) $(PKG_TEST)

# No intermediate file is thrown away.
.SECONDARY:
-include $(OBJ:.o=.d) $(TEST_SRC:%.c=$(B)/obj/%.d) $(FAKE_OBJ:.o=.d) \
	$(BENCH_SRC:%.c=$(B)/obj/%.d)

# What the recipes above need; quick when nothing is missing.
.PHONY: packages packages-test packages-fresh
packages:
	@app/demo/packages.sh run
packages-test:
	@app/demo/packages.sh run test
packages-fresh:
	@app/demo/packages.sh fresh

.PHONY: run start stop status reset
run: packages $(B)/lastpair ## the demo shop in the foreground; Ctrl-C stops it
	@env --default-signal=INT app/demo/shop.sh run
start: packages $(B)/lastpair ## the same in the background
	@app/demo/shop.sh start
stop: ## stops it
	@app/demo/shop.sh stop
status: ## what of it runs
	@app/demo/shop.sh status
reset: ## stops it and throws the demo's data away
	@app/demo/shop.sh reset

.PHONY: test check lint layers test-fresh
test: packages-test ## every test; SUITES="unit sql" picks some
	@$(MAKE) --no-print-directory all
	@tests/run.sh $(SUITES)
check: packages-test ## unit tests, lint, layers: under a minute
	@$(MAKE) --no-print-directory all
	@status=0; for part in "run.sh unit" lint.sh layers.sh; do \
		tests/$$part || status=1; done; exit $$status
lint: packages-test ## formats, linters, lengths
	@tests/lint.sh
layers: ## who may include whom
	@tests/layers.sh
test-fresh: packages-fresh ## run, a purchase and test in a new Debian root
	@tests/fresh.sh

# Compiles nothing: run make before. What the server of the machine reads.
SHARE = $(DESTDIR)$(PREFIX)/share/lastpair
.PHONY: install
install: $(B)/lastpair ## installs below DESTDIR and PREFIX (/usr/local)
	install -D -m 755 $(B)/lastpair $(DESTDIR)$(PREFIX)/bin/lastpair
	for d in sql static nginx; do \
		(cd $$d && find . -type f -exec \
		install -D -m 644 {} $(SHARE)/$$d/{} \;) || exit 1; \
	done

.PHONY: bench drill deb
# BENCH_SECONDS, BENCH_ONLY and BENCH_PAST: see tests/bench/README.md.
bench: packages $(B)/lastpair $(B)/bench/load $(B)/bench/empty ## measures; writes build/bench.json
	@tests/bench/bench.sh
# BUYERS, UNITS, SECONDS, EARLY, KILL, SEED: see tests/bench/DRILL.md.
drill: packages $(B)/lastpair $(B)/bench/drill ## a whole on-sale
	@DRILL_SECONDS="$(SECONDS)" tests/bench/drill.sh
deb: ## a Debian package; not in this version
	@echo "make deb: this version has no debian/ folder yet;" \
		"make install DESTDIR=... works" >&2; exit 2

.PHONY: clean help
clean: ## removes what was built; the demo's data stays
	rm -rf build build-asan build-tsan
help: ## these lines
	@sed -n 's/^\([a-z-]*\):.* ## /\1\t/p' Makefile | expand -t 14
