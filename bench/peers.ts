#!/usr/bin/env node
// Times the native backend against what people use now (PyTorch, JAX, ONNX Runtime and packages of linear attention), as
// `rfa bench` times backends and PyTorch: behind its gate, in its processes and turns.
// npm run bench:peers -- [--quick] [--peers NAME,NAME] [--threads N,N] [--seconds N] [--output FILE] [FILTER],
// FILTER a part of the name of a case, as `elu causal` or `512 tokens`
import {mkdirSync, writeFileSync} from 'node:fs'
import {dirname} from 'node:path'
import {loadAddon} from '../src/backends/native/loader.js'
import {NoPython, usePeersPython} from './peers/environment.js'
import {type Request, readFlags} from './peers/flags.js'
import {measureAll} from './peers/measure.js'
import type {PeersReport} from './peers/report.js'
import {peersText} from './peers/table.js'

const EXIT = {leftOut: 1, usage: 2, unavailable: 3}

const request = flags()
if (request) await main(request)

async function main(request: Request): Promise<void> {
  const loaded = loadAddon()
  if (!('addon' in loaded)) return end(EXIT.unavailable, `${loaded.reason}; ${loaded.remedy}`)
  try {
    usePeersPython()
  } catch (error) {
    if (!(error instanceof NoPython)) throw error
    return end(EXIT.unavailable, error.message)
  }
  mkdirSync(dirname(request.output), {recursive: true})
  const save = (report: PeersReport) =>
    writeFileSync(request.output, `${JSON.stringify(report, null, 2)}\n`)
  const report = await measureAll(request, save)
  save(report)
  process.stdout.write(`${peersText(report)}\n`)
  if (report.peers.length === 0) return end(EXIT.unavailable, 'expected a peer, got none')
  const left = report.rows.flatMap(row => row.left_out).length
  if (left > 0) end(EXIT.leftOut, `expected every form to be timed, ${left} were not: see above`)
}

function flags(): Request | undefined {
  try {
    return readFlags(process.argv.slice(2))
  } catch (error) {
    end(EXIT.usage, (error as Error).message)
    return undefined
  }
}

function end(code: number, sentence: string): void {
  process.stderr.write(`bench:peers: ${sentence}\n`)
  process.exitCode = code
}
