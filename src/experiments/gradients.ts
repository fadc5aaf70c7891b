/** Errors of methods that cannot be learned with. */
import {messageOf, RfaError} from '../errors.js'

/** What TensorFlow.js says of operations without a gradient. */
const NO_GRADIENT = /gradient function not found|Cannot compute gradient|has no gradient/i

/** An error of TensorFlow.js about a missing gradient in words of the method; any other error as it is. @param by - what is learned */
export function missingGradient(error: unknown, method: string, by: string): unknown {
  const message = messageOf(error)
  if (!NO_GRADIENT.test(message)) return error
  const own = `${method}: expected a gradient by ${by}, got an operation without one (${message.split('\n')[0]})`
  return new RfaError('UNSUPPORTED', own, {
    suggestions: ['use operations of TensorFlow.js that have gradients'],
    cause: error,
  })
}
