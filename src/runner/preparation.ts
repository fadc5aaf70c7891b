/** What is done before the first cell, where tensors are at hand: in a worker, or for a dry run in the program itself. */
import {checkThreads, keepsThreads, threadingOf, useBackend} from '../backends/index.js'
import {experimentNamed} from '../experiments/index.js'
import {type Job, planRun} from '../experiments/planned-run.js'
import {pinInput} from '../inputs/digest.js'
import {inputWarnings} from '../inputs/load.js'
import type {Plan} from '../results/record.js'

/** A plan that can run, with its jobs. */
export interface Preparation {
  /** The plan as it runs: its input is pinned to what the files hold now. */
  plan: Plan
  /** In the order in which they run; equal cells are one job. */
  jobs: readonly Job[]
  /** Threads that each process can compute with. */
  threading: 'any' | 'one'
  /** What is to be said of the backend. */
  notes: readonly string[]
  /** What to be wary of in the input. */
  warnings: readonly string[]
  /** Whether this process may compute cells, too: one whose backend keeps its first threads has not theirs. */
  serves: boolean
}

/**
 * Takes the backend of a plan into use, so that one that cannot run is told here, and makes the plan's jobs.
 *
 * @throws {BACKEND_MISSING} {UNSUPPORTED} when the backend cannot run here, or has fewer threads than asked for
 * @throws what reading the header of the plan's input or resolving its methods throws
 */
export async function prepareRun(asked: Plan): Promise<Preparation> {
  const plan = await pinned(asked)
  const notes: string[] = []
  const {name} = await useBackend(plan.backend, {
    threads: plan.threads ?? undefined,
    note: text => notes.push(text),
  })
  const {jobs} = await planRun(plan)
  const threading = await threadingOf(name)
  const warnings = await warningsOf(plan)
  return {plan, jobs, threading, notes, warnings, serves: !(await keepsThreads(name))}
}

/** The same without trying anything: the plan may be made for another machine. */
export async function prepareDryRun(asked: Plan): Promise<Preparation> {
  const plan = await pinned(asked)
  await checkThreads(plan.backend, plan.threads ?? undefined)
  const {jobs} = await planRun(plan)
  const threading = await threadingOf(plan.backend)
  return {plan, jobs, threading, notes: [], warnings: await warningsOf(plan), serves: false}
}

/** Reads once what all cells will read. @throws what {@link Experiment.check} throws */
export async function checkInput(plan: Plan): Promise<void> {
  await (await experimentNamed(plan.experiment)).check?.(plan)
}

/** The plan with its input pinned to what the files hold now. @throws {FILE_MISSING | BAD_FILE | ARRAY_MISSING} */
async function pinned(plan: Plan): Promise<Plan> {
  return plan.input ? {...plan, input: await pinInput(plan.input)} : plan
}

async function warningsOf({input}: Plan): Promise<string[]> {
  return input ? inputWarnings(input) : []
}
