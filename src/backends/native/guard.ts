import {checkGuard, type Guard} from '../../attention/fused-kernels.js'
import type {Addon} from './addon.js'

/** A guard as the addon takes it. @throws {BAD_OPTION} for what is none */
export function guardCode({codes}: Addon, guard: Guard): {guard: number; guardBound: number} {
  checkGuard(guard)
  return {guard: codes.guard[guard.policy]!, guardBound: guard.bound}
}
