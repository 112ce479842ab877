# Kernel sets of this processor. The scripts for images source this file; $meter is the program that measures.
# shellcheck shell=bash disable=SC2154 # the script sets meter

# has_kernels NAME: whether this processor has them
has_kernels() { "$meter" --kernels "$1" --length 1 --layers 1 >/dev/null 2>&1; }

# int8_kernels: the fastest kernels with products of 8-bit integers, or nothing
int8_kernels() {
	local name
	for name in avx512-vnni avxvnni avx2-int8 dotprod; do
		! has_kernels "$name" || {
			echo "$name"
			return
		}
	done
}
