/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Stands in for libbpf's header: natively nothing is relocated. */
