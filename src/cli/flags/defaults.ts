/** The grids that run when flags leave something open: a standard one, and under `--quick` one of seconds. */
import type {MethodName, ProjectionName} from '../../attention/names.js'

/** What experiments with estimators vary. */
export interface Grid {
  methods: readonly MethodName[]
  projections: readonly ProjectionName[]
  numFeatures: readonly number[]
}

/** Which of the two grids the flags ask for. */
export function gridOf<G>(grids: Record<'standard' | 'quick', G>, flags: {quick: boolean}): G {
  return flags.quick ? grids.quick : grids.standard
}

/** A default as help shows it: `(default: 64, 256; quick: 32)`. */
export function defaultHelp<G>(
  grids: Record<'standard' | 'quick', G>,
  read: (grid: G) => string | number | readonly (string | number)[],
): string {
  const [standard, quick] = [grids.standard, grids.quick].map(grid => listed(read(grid)))
  return standard === quick ? `(default: ${standard})` : `(default: ${standard}; quick: ${quick})`
}

function listed(value: string | number | readonly (string | number)[]): string {
  return Array.isArray(value) ? value.join(', ') : String(value)
}
