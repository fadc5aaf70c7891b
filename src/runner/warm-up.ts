/** What every run of an experiment will need, loaded by a worker before it is asked for anything. */
import {loadEstimators} from '../attention/names.js'
import {tryPreferred} from '../backends/index.js'
import {experimentNamed} from '../experiments/index.js'
import './preparation.js'

/** @param experiment - its name */
export async function warmUp(experiment: string): Promise<void> {
  const {load} = await experimentNamed(experiment)
  await Promise.all([tryPreferred(), load?.(), loadEstimators()])
}
