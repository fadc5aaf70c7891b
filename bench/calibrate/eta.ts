/**
 * How accurate the time left is that progress shows. Runs plans, records the time shown and the true time left at
 * every look, and prints the ratios from a tenth of the run on. Words are files of plans, as --dry-run --json
 * prints them.
 */
import {readPlanFile} from '../../src/cli/run/plan-file.js'
import {experimentNamed} from '../../src/experiments/index.js'
import {type ProgressEvent, runExperiment} from '../../src/runner/run-experiment.js'
import {schedule} from '../../src/runner/schedule/schedule.js'
import {askForPlan} from '../../src/runner/workers/planner.js'
import {takeWorker} from '../../src/runner/workers/prestarted-worker.js'
import {type Calibration, each} from './run.js'

/** A look at a run: when, and what it showed, in ms. */
interface Look {
  at: number
  etaMs: number
}

async function looksOf(path: string): Promise<{looks: Look[]; cells: number; tookMs: number}> {
  const asked = await readPlanFile(path)
  const worker = await takeWorker(asked.experiment)
  try {
    const {plan, jobs, threading} = await askForPlan(asked, worker)
    const run = {experiment: await experimentNamed(plan.experiment), plan, jobs}
    const looks: Look[] = []
    const began = performance.now()
    const see = ({etaMs}: ProgressEvent) => looks.push({at: performance.now() - began, etaMs})
    await runExperiment(run, {
      ...{directory: null, resume: false, argv: ['rfa'], timeoutMs: null, formats: []},
      ...{schedule: schedule(run, undefined, threading), onProgress: see, onTick: see},
    })
    return {looks, cells: jobs.length, tookMs: performance.now() - began}
  } finally {
    await worker.kill()
  }
}

/** Of what was shown to what was left, from a tenth of the run on to its last twentieth, where seconds are left. */
function ratiosOf(looks: readonly Look[], tookMs: number): number[] {
  return looks
    .filter(({at}) => at >= 0.1 * tookMs && at <= 0.95 * tookMs)
    .map(({at, etaMs}) => etaMs / (tookMs - at))
    .sort((a, b) => a - b)
}

export default (async words => ({
  rows: await each(
    words.map(name => ({name})),
    [],
    async ({name}) => {
      const {looks, cells, tookMs} = await looksOf(name)
      const ratios = ratiosOf(looks, tookMs)
      const at = (share: number) => ratios[Math.round(share * (ratios.length - 1))] ?? null
      const within = ratios.filter(ratio => ratio <= 1.5 && ratio >= 1 / 1.5).length / ratios.length
      return {
        ...{plan: name, cells, seconds: tookMs / 1000, looks: ratios.length},
        ...{'shown/left: least': at(0), median: at(0.5), most: at(1)},
        '% within 1.5': 100 * within,
      }
    },
  ),
})) satisfies Calibration
