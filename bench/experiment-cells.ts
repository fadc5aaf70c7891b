#!/usr/bin/env node
// Runs the cells of a plan in this process, as a worker would, and prints how long they took, without the start.
// node experiment-cells.js PLAN THREADS, PLAN as JSON
import {useBackend} from '../src/backends/index.js'
import {planRun} from '../src/experiments/planned-run.js'

const [plan, threads] = process.argv.slice(2)
const {experiment, jobs} = await planRun(JSON.parse(plan!))
const threadShare = Number(threads)
const backend = await useBackend('native', {threadShare})
// as a worker does while its parent plans: what the cells need is loaded, and their input read
await experiment.load?.()
await experiment.check?.(JSON.parse(plan!))
const begin = performance.now()
const outcomes = []
for (const {cell} of jobs) outcomes.push(await experiment.run(cell, {threadShare}))
const seconds = (performance.now() - begin) / 1e3
process.stdout.write(`${JSON.stringify({seconds, backend, outcomes})}\n`)
