/** Speeds that predicted times assume. */

/** Sustained floating-point rates, operations per second: orders of magnitude, the lowest for auto. */
const RATES: Record<string, number> = {
  auto: 4e9,
  native: 3e10,
  wasm: 4e9,
  tensorflow: 3e10,
  cpu: 4e8,
}

/** The same for double-precision loops on the host: exact outputs, statistics, row metrics. */
const HOST_RATE = 1.6e9

/** Operations per second of a backend; `undefined` for one that is not known. */
export function rateOf(backend: string): number | undefined {
  return RATES[backend]
}

/** Operations of the backend that take as long as so many on the host. */
export function hostCost(operations: number, backend: string): number {
  return (operations * (RATES[backend] ?? HOST_RATE)) / HOST_RATE
}
