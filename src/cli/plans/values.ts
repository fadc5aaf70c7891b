import type {z} from 'zod'
import {PROJECTION_NAMES, type ProjectionName} from '../../attention/names.js'
import {RfaError} from '../../errors.js'
import type {FlagValues, methodFlags} from '../flags.js'
import {mergeValues} from '../ranges.js'
import type {Grid} from './defaults.js'

/** The values of a list flag, or the default where it was not given. */
export function listOr(
  flag: readonly (readonly number[])[] | undefined,
  where: string,
  fallback: readonly number[],
): number[] {
  return flag === undefined ? [...fallback] : mergeValues(flag, where)
}

/** Projections of a list flag, each once, or the default where it was not given. */
function projectionsOr(
  flag: readonly (ProjectionName | 'all')[] | undefined,
  fallback: readonly ProjectionName[],
): ProjectionName[] {
  if (flag?.includes('all')) return [...PROJECTION_NAMES]
  return [...new Set((flag as readonly ProjectionName[] | undefined) ?? fallback)]
}

/** What plans list of `drawAxes`, from flags first. */
export function drawAxesOf(
  flags: FlagValues<ReturnType<typeof methodFlags>>,
  grid: Pick<Grid, 'projections' | 'numFeatures'>,
) {
  return {
    projections: projectionsOr(flags.projections, grid.projections),
    orth_sign: flags['orth-sign'] ?? ('haar' as const),
    num_features: listOr(flags['num-features'], '--num-features', grid.numFeatures),
  }
}

/**
 * Checks a plan against its schema: the last door before anything runs.
 *
 * @throws {USAGE} naming the first field that does not fit
 */
export function checkedPlan<Schema extends z.ZodType>(
  schema: Schema,
  plan: z.input<Schema>,
): z.output<Schema> {
  const parsed = schema.safeParse(plan)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const field = issue?.path.join('.') || 'plan'
  throw new RfaError('USAGE', `plan.${field}: ${issue?.message ?? 'not a valid plan'}`, {
    suggestions: ['see --help for what each flag takes'],
  })
}
