/** Guards on the denominators of features that may be negative, which training adds where none was typed. */
import type {MethodSpec} from '../axes.js'

/**
 * Keep denominators of features that may be negative away from zero: sums over all keys so far above the weight of about one; sums of keys
 * with gates, which are averages and begin with a share 1 - g of one, above a hundredth.
 */
export const GUARDS = {sums: 'clamp:1', gated: 'clamp:0.01'}

/** The guard of a method that training adds by itself; `undefined`: it has none, or another one. */
export function ordinaryGuard({options: {denGuard}}: MethodSpec): string | undefined {
  return Object.values(GUARDS).find(guard => guard === denGuard)
}

/** A method as tables call it: without the ordinary guard, unless another row of the method has another one. */
export function asCalled<Spec extends MethodSpec>(spec: Spec, others: readonly MethodSpec[]): Spec {
  const own = others.filter(({method}) => method === spec.method)
  const guards = new Set([spec, ...own].map(({options}) => options.denGuard))
  if (guards.size > 1 || ordinaryGuard(spec) === undefined) return spec
  const {denGuard: _, ...options} = spec.options
  return {...spec, options}
}
