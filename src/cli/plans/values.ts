import type {z} from 'zod'
import {PROJECTION_NAMES, type ProjectionName} from '../../attention/names.js'
import {describe, expected} from '../../errors.js'
import {type DrawSettings, drawSettings, drawSettingsOf} from '../../experiments/axes.js'
import type {UntilCi} from '../../experiments/until-ci.js'
import {flagOf} from '../../results/settings.js'
import type {Grid} from '../flags/defaults.js'
import type {FlagValues} from '../flags/kinds.js'
import {mergeValues} from '../flags/ranges.js'
import type {methodFlags} from '../flags/shared.js'

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
    ...typedSettings(flags),
    num_features: listOr(flags['num-features'], '--num-features', grid.numFeatures),
  }
}

/** How matrices are drawn, by flags that have the names of the fields. */
function typedSettings(flags: Readonly<Record<string, unknown>>): DrawSettings {
  const fields = Object.keys(drawSettings)
  const values = fields.map(field => [field, flags[field.replaceAll('_', '-')]])
  return drawSettingsOf(Object.fromEntries(values))
}

/** Replicates that flags ask for, with what ends them. */
interface ReplicateFlags {
  replicates?: number | undefined
  'until-ci'?: number | undefined
  'max-replicates'?: number | undefined
}

/**
 * Replicates, and until when. Most that were typed move the default of the fewest out of their way.
 *
 * @param standard - replicates where none are typed, and the most of them
 * @param names - of the flags, for errors
 * @throws {USAGE} for most that nothing asks for, or that are below the fewest
 */
export function replicatesOf(
  {'until-ci': width, 'max-replicates': most, replicates}: ReplicateFlags,
  standard: {replicates: number; most: number},
  names = {replicates: '--replicates', most: '--max-replicates'},
): {replicates: number; until_ci?: UntilCi} {
  if (width === undefined) {
    if (most !== undefined) throw onlyWithUntilCi(names.most)
    return {replicates: replicates ?? standard.replicates}
  }
  const least = replicates ?? Math.min(standard.replicates, most ?? standard.replicates)
  const max_replicates = most ?? Math.max(standard.most, least)
  if (max_replicates >= least) {
    return {replicates: least, until_ci: {relative_half_width: width, max_replicates}}
  }
  const what = `at least ${names.replicates} ${least}`
  throw expected('USAGE', names.most, what, String(max_replicates))
}

/** Error of a flag that says more of `--until-ci`. */
export function onlyWithUntilCi(flag: string) {
  return expected('USAGE', flag, 'with --until-ci', 'without', 'add --until-ci 0.05')
}

/**
 * Checks a plan against its schema: the last door before anything runs. Flags have refused most already, in other
 * words.
 *
 * @throws {USAGE} naming the flag of the first field that does not fit
 */
export function checkedPlan<Schema extends z.ZodType>(
  schema: Schema,
  plan: z.input<Schema>,
): z.output<Schema> {
  const parsed = schema.safeParse(plan)
  if (parsed.success) return parsed.data
  const path = parsed.error.issues[0]?.path ?? []
  const value = path.reduce<unknown>((node, part) => Object(node)[part], plan)
  const remedy = 'see --help for what each flag takes'
  const wanted = 'a value that a plan can hold'
  throw expected('USAGE', `--${flagOf(schema, path)}`, wanted, describe(value), remedy)
}
