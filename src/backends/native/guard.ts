import type {Addon} from './addon.js'

/** A guard policy such as `clamp:1e-2` as the addon takes it. */
export function guardCode({codes}: Addon, policy: string): {guard: number; guardBound: number} {
  const [name = 'none', bound] = policy.split(':')
  return {guard: codes.guard[name.toLowerCase()]!, guardBound: Number(bound ?? 0)}
}
