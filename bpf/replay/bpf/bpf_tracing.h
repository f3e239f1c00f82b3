/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Stands in for libbpf's header: natively a program is a function. */
#define BPF_PROG(name, ...) name(__VA_ARGS__)
