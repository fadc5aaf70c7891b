#!/usr/bin/env node
// Holds what rfa predicts, chooses and promises against what happens.
// npm run bench:calibrate -- NAME [WORD ...] [--json] [--output FILE] [--quick] [--threads N,N] [--cache FOLDER]
import {mkdirSync, writeFileSync} from 'node:fs'
import {dirname} from 'node:path'
import {parseArgs} from 'node:util'
import {rowsText} from './calibrate/rows.js'
import type {Calibration} from './calibrate/run.js'

/** By their names; WORD is what each says. */
const CALIBRATIONS: Readonly<Record<string, () => Promise<{default: Calibration}>>> = {
  backends: () => import('./calibrate/backends.js'),
  eta: () => import('./calibrate/eta.js'),
  shards: () => import('./calibrate/shards.js'),
  predictions: () => import('./calibrate/predictions.js'),
  'error-predictions': () => import('./calibrate/error-predictions.js'),
  report: () => import('./calibrate/report.js'),
  repeatability: () => import('./calibrate/repeatability.js'),
  'variance-intervals': () => import('./calibrate/variance-intervals.js'),
}

const {values, positionals} = parseArgs({
  allowPositionals: true,
  options: {
    json: {type: 'boolean', default: false},
    output: {type: 'string'},
    quick: {type: 'boolean', default: false},
    threads: {type: 'string', default: '1,2'},
    cache: {type: 'string'},
  },
})
const [name = '', ...words] = positionals
const load = CALIBRATIONS[name]
if (load) {
  const {rows, report = rows} = await (await load()).default(words, values)
  const json = JSON.stringify(report, null, 2)
  process.stdout.write(`${values.json ? json : rowsText(rows)}\n`)
  if (values.output) {
    mkdirSync(dirname(values.output), {recursive: true})
    writeFileSync(values.output, `${json}\n`)
  }
} else {
  const names = Object.keys(CALIBRATIONS).join(', ')
  process.stderr.write(`bench:calibrate: expected one of ${names}, got ${name || 'nothing'}\n`)
  process.exitCode = 2
}
