/** Errors of methods that cannot be learned with. */
import {messageOf, RfaError} from '../errors.js'

/** What TensorFlow.js says of operations without a gradient. */
const NO_GRADIENT = /gradient function not found|Cannot compute gradient|has no gradient/i

/** What it says of operations that a backend lacks. */
const NO_KERNEL = /Kernel '(\w+)' not registered for backend '(\w+)'/

/**
 * An error of TensorFlow.js about a missing gradient, or an operation that a backend lacks, in words of the method; any other error as it
 * is.
 *
 * @param by - what is learned
 */
export function missingGradient(error: unknown, method: string, by: string): unknown {
  const message = messageOf(error)
  const [, kernel, backend] = NO_KERNEL.exec(message) ?? []
  if (kernel !== undefined) {
    const own = `${method}: expected a backend with ${kernel}, which learning needs, got ${backend}`
    return new RfaError('UNSUPPORTED', own, {
      suggestions: ['use `backend: native`, or `backend: cpu`'],
      cause: error,
    })
  }
  if (!NO_GRADIENT.test(message)) return error
  const own = `${method}: expected a gradient by ${by}, got an operation without one (${message.split('\n')[0]})`
  return new RfaError('UNSUPPORTED', own, {
    suggestions: ['use operations of TensorFlow.js that have gradients'],
    cause: error,
  })
}
