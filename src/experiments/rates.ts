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
 * Converts operations on the backend that runs to operations at the rate of a choice that take the same time.
 *
 * @param choice - backend of the plan: predicted times use its rate
 */
export function backendCost(
  operations: number,
  {backend, choice}: {backend: MeteredBackend; choice: BackendChoice},
): number {
  return (operations * RATES[choice]) / RATES[backend]
}

/** Converts operations on the host to operations of the backend that take the same time. */
export function hostCost(operations: number, backend: BackendChoice): number {
  return (operations * RATES[backend]) / HOST_RATE
}

/** Operations of the backend in a number of seconds of one thread. */
export function timeCost(seconds: number, backend: BackendChoice): number {
  return seconds * RATES[backend]
}

/** Converts operations of the exact loop of `native` to operations of the backend that take the same time. */
export function loopCost(operations: number, backend: BackendChoice): number {
  return (operations * RATES[backend]) / LOOP_RATE
}
