#!/usr/bin/env node
// Times whole experiments against what a researcher would write in plain PyTorch instead, in interleaved rounds of
// fresh processes with equal threads. Numbers count only where both engines found the same.
// npm run bench:experiments -- [--rounds N] [--threads N,N] [--output FILE] [FILTER]
import {mkdirSync, writeFileSync} from 'node:fs'
import {availableParallelism, loadavg} from 'node:os'
import {dirname} from 'node:path'
import {parseArgs} from 'node:util'
import {machineFacts} from '../src/results/folder/machine.js'
import {median} from '../src/stats/index.js'
import {type ExperimentCase, experimentCases, TINY_ARGV} from './experiment-cases.js'
import {assertAgreement} from './experiment-gate.js'
import {findTorch, type Peer, runCells, runCommand, spread} from './experiment-runs.js'
import {forwardCases, measureForward} from './forwards.js'
import type {ExperimentRow, ExperimentsReport, ForwardRow, StartRow} from './report-schema.js'
import {experimentsText} from './table.js'

const {values: flags, positionals} = parseArgs({
  allowPositionals: true,
  options: {
    rounds: {type: 'string', default: '7'},
    threads: {type: 'string', default: availableParallelism() > 1 ? '1,2' : '1'},
    output: {type: 'string', default: 'results/reference/experiments.json'},
  },
})
const ROUNDS = Number(flags.rounds)
/** Factor on the replicates of a second run, which differs only by its replicates. */
const MORE = 6
const THREADS = flags.threads.split(',').map(Number)

const before = loadavg()[0]!
const peer = findTorch()
const {cases, dispose} = await experimentCases()
try {
  const experiments: ExperimentRow[] = []
  for (const threads of THREADS) {
    for (const given of cases.filter(({name}) => name.includes(positionals[0] ?? ''))) {
      experiments.push(measure(given, threads, peer))
    }
  }
  const report: ExperimentsReport = {
    schema: 'rfa.experiments/1',
    created_at: new Date().toISOString(),
    machine: await machineFacts({timed: true}),
    backend: backendFacts(cases[0]!),
    torch: peer?.version ?? null,
    load_average: {before, after: loadavg()[0]!},
    experiments,
    forwards: forwards(),
    starts: starts(),
  }
  process.stdout.write(`${experimentsText(report)}\n`)
  mkdirSync(dirname(flags.output), {recursive: true})
  writeFileSync(flags.output, `${JSON.stringify(report, null, 2)}\n`)
} finally {
  await dispose()
}

/** Times of both engines in seconds. */
interface Times {
  rfa: number[]
  torch: number[]
}

/** One case: both engines in turn, round by round, after one round that is checked and not counted. */
function measure(given: ExperimentCase, threads: number, peer: Peer | undefined): ExperimentRow {
  process.stderr.write(`${given.name}, threads ${threads}\n`)
  const none = (): Times => ({rfa: [], torch: []})
  const [whole, replicates, commands] = [none(), none(), none()]
  for (let round = 0; round <= ROUNDS; round++) {
    const own = runCells(given.plan, threads)
    const other = peer?.run(given.request, threads)
    if (round === 0) {
      assertAgreement(given.name, own.outcomes, other?.answer)
      continue
    }
    whole.rfa.push(own.seconds)
    replicates.rfa.push(perReplicate(given, threads, own.seconds))
    commands.rfa.push(runCommand([...given.argv, '--threads', `${threads}`]))
    if (!other) continue
    const {seconds, truth_seconds: truth = 0} = other.answer
    whole.torch.push(seconds)
    replicates.torch.push((seconds - truth) / given.plan.replicates)
    commands.torch.push(other.wallSeconds)
  }
  return {
    ...{name: given.name, threads, wanted: given.wanted, wanted_of: given.wantedOf},
    ...compared(whole, peer !== undefined),
    replicate: given.plan.experiment === 'error-sweep' ? replicateTimes(replicates) : null,
    rfa_command: spread(commands.rfa),
    torch_command: peer ? spread(commands.torch) : null,
  }
}

/** Seconds of a replicate, from a run of more of them. */
function perReplicate({plan}: ExperimentCase, threads: number, seconds: number): number {
  if (plan.experiment !== 'error-sweep') return Number.NaN
  const more = runCells({...plan, replicates: MORE * plan.replicates}, threads).seconds
  return (more - seconds) / ((MORE - 1) * plan.replicates)
}

function compared({rfa, torch}: Times, hasPeer: boolean) {
  const [own, other] = [spread(rfa), hasPeer ? spread(torch) : null]
  return {rfa: own, torch: other, torch_over_rfa: other && other.min_s / own.min_s}
}

function replicateTimes({rfa, torch}: Times): ExperimentRow['replicate'] {
  const rfa_s = median(rfa) // of differences: the least of them would be of a slow first run
  const torch_s = torch.length > 0 ? Math.min(...torch) : null
  return {rfa_s, torch_s, ratio: torch_s && torch_s / rfa_s}
}

function forwards(): ForwardRow[] {
  if (!peer) return []
  const {cases, dispose} = forwardCases(peer)
  try {
    const wanted = cases.filter(({name}) => name.includes(positionals[0] ?? ''))
    return THREADS.flatMap(threads =>
      wanted.map(given => measureForward(given, {threads, peer, rounds: ROUNDS})),
    )
  } finally {
    dispose()
  }
}

function starts(): StartRow[] {
  const commands = {
    'a sweep of one tiny cell': TINY_ARGV,
    'error-sweep --quick': ['error-sweep', '--quick'],
  }
  return Object.entries(commands).map(([name, argv]) => {
    process.stderr.write(`${name}\n`)
    runCommand(argv)
    const times = Array.from({length: ROUNDS}, () => runCommand(argv))
    return {name, command: spread(times)}
  })
}

function backendFacts({plan}: ExperimentCase) {
  const {name, instructionSet} = runCells(plan, 1).backend
  return {name, instructionSet}
}
