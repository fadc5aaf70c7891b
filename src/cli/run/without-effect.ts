/** Settings that were typed and that no method asked for uses. */
import type {SettledRequest} from '../../apply/record.js'
import type {PredictedCell} from '../../experiments/experiment.js'
import type {RunOptions} from '../flags/shared.js'

/** Fields of cells that are `null` where they mean nothing to the method. */
const AXES = [
  ['num-features', 'num_features'],
  ['projections', 'projection'],
] as const

/** Warnings of a grid without a cell that has a typed axis. */
export function idleAxes(flags: RunOptions, jobs: readonly PredictedCell[]): string[] {
  return AXES.filter(([flag, field]) => flags[flag] !== undefined && isIdle(field, jobs)).map(
    ([flag]) => `--${flag} changes nothing: no method asked for has random features`,
  )
}

/** Whether no cell has a value there. */
function isIdle(field: string, jobs: readonly PredictedCell[]): boolean {
  return jobs.length > 0 && jobs.every(({cell}) => Reflect.get(cell, field) === null)
}

/** The same of one call. @param typed - flags of `rfa apply`; a missing value was not typed */
export async function idleSettings(
  typed: {'num-features'?: unknown; projection?: unknown},
  request: SettledRequest,
): Promise<string[]> {
  if (typed['num-features'] === undefined && typed.projection === undefined) return []
  const {resolveMethod} = await import('../../experiments/method.js')
  const {sized, projected} = await resolveMethod(request)
  const idle = [
    ...(typed['num-features'] !== undefined && !sized(request) ? ['`numFeatures`'] : []),
    ...(typed.projection !== undefined && !projected ? ['`projection`'] : []),
  ]
  return idle.map(
    setting => `${setting} changes nothing: ${request.method} as asked for does not use it`,
  )
}
