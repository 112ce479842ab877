# Kernel sets of this processor. The scripts for images source this file; $meter is the program that measures.
# shellcheck shell=bash disable=SC2154 # the script sets meter

# has_kernels NAME: whether this processor has them
has_kernels() { "$meter" --kernels "$1" --length 1 --layers 1 >/dev/null 2>&1; }

# first_kernels NAME...: the first that this processor has, or nothing
first_kernels() {
	local name
	for name in "$@"; do
		! has_kernels "$name" || {
			echo "$name"
			return
		}
	done
}

# int8_kernels, bfloat16_kernels: the fastest kernels with products of 8-bit integers or bfloat16 numbers, or nothing
int8_kernels() { first_kernels avx512-amx-int8 avx512-vnni avxvnni avx2-int8 dotprod; }
bfloat16_kernels() { first_kernels avx512-amx-bf16 avx512-bf16; }
