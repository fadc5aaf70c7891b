/** Runs until intervals are narrow enough. */
import {mean} from '../../stats/index.js'
import {isNarrow, nextReplicates} from '../until-ci.js'
import {methodRows} from './report/rows.js'
import type {TrainPlan, TrainRecord} from './schema.js'

/** Runs cost a training each: few looks at intervals matter more than stopping right behind the mark. */
const GROWTH = 2

/**
 * The plan with more runs, where it has a rule and the interval of a method is too wide; methods that diverged in every run are
 * left out of that, as more of them say nothing. All methods get the same runs, so that they stay comparable.
 */
export async function enlarged(
  plan: TrainPlan,
  records: readonly TrainRecord[],
): Promise<TrainPlan | undefined> {
  const {until_ci, runs} = plan
  const completed = records.filter(record => record.status === 'completed')
  const rows = methodRows(completed).filter(({diverged, runs}) => diverged < runs.length)
  if (!until_ci || rows.length === 0) return undefined
  const isKnown = () =>
    rows.every(({scores, interval}) => isNarrow(mean(scores), interval, until_ci))
  const more = nextReplicates({replicates: runs, until_ci}, runs, {factor: GROWTH, isKnown})
  return more === undefined ? undefined : {...plan, runs: more}
}
