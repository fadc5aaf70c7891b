import {RfaError} from '../../src/errors.js'

/** What a call throws, which must be an error of this package. */
export function thrown(call: () => unknown): RfaError {
  try {
    call()
  } catch (error) {
    if (error instanceof RfaError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}
