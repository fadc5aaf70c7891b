/** Speeds that predicted times assume. */
import type {MeteredBackend} from '../attention/internal.js'
import type {BackendChoice} from '../backends/index.js'

/**
 * Sustained floating-point rates, operations per second and thread: orders of magnitude. For auto that of the plainest
 * fast backend, in which costs of others are expressed.
 */
const RATES: Record<BackendChoice, number> = {
  auto: 4e9,
  native: 6e10, // AVX-512 does 1e11, AVX2 half of that
  wasm: 4e9,
  tensorflow: 1.2e10, // a fifth of native, in the middle of the cases of bench/calibrate/backends.ts
  cpu: 4e8,
}

/** The same for double-precision loops of TypeScript: exact outputs, statistics, row metrics. */
const HOST_RATE = 1.6e9

/** The same for exact outputs by the loop of the backend `native`. */
const LOOP_RATE = 5e10

/** Operations per second of a backend. */
export function rateOf(backend: BackendChoice): number {
  return RATES[backend]
}

/**
 * Operations at the rate of a choice that take as long as so many on the backend that runs.
 *
 * @param choice - what the plan says, whose rate predicted times go by
 */
export function backendCost(
  operations: number,
  {backend, choice}: {backend: MeteredBackend; choice: BackendChoice},
): number {
  return (operations * RATES[choice]) / RATES[backend]
}

/** Operations of the backend that take as long as so many on the host. */
export function hostCost(operations: number, backend: BackendChoice): number {
  return (operations * RATES[backend]) / HOST_RATE
}

/** Operations of the backend that take so many seconds of one thread. */
export function timeCost(seconds: number, backend: BackendChoice): number {
  return seconds * RATES[backend]
}

/** Operations of the backend that take as long as so many in the exact loop of `native`. */
export function loopCost(operations: number, backend: BackendChoice): number {
  return (operations * RATES[backend]) / LOOP_RATE
}
