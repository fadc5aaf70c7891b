/**
 * The library's door.
 *
 * @module rfa
 */
export * from './attention/index.js'
export {
  type ActiveBackend,
  BACKEND_NAMES,
  type BackendChoice,
  type BackendName,
  probeBackends,
  useBackend,
} from './backends/index.js'
export {RfaError, type RfaErrorCode} from './errors.js'
