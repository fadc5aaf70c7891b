import {parseGuard} from '../../attention/kernels/guard.js'
import type {Addon} from './addon.js'

/** A guard policy such as `clamp:1e-2` as the addon takes it. @throws {BAD_OPTION} */
export function guardCode({codes}: Addon, guard: string): {guard: number; guardBound: number} {
  const {policy, bound} = parseGuard(guard)
  return {guard: codes.guard[policy]!, guardBound: bound}
}
