#!/usr/bin/env node
// Times the layers of a model with all weights in memory, and writes the output of the last one to a file.
// node forward-run.js REQUEST, REQUEST as JSON: see `ForwardRequest`
import {readFileSync, writeFileSync} from 'node:fs'
import {tf} from '../src/attention/index.js'
import {hostData} from '../src/attention/internal.js'
import {useBackend} from '../src/backends/index.js'
import {exactLayerAttention, openModel, type TokenBatch} from '../src/model/index.js'
import type {ForwardRequest} from './forwards.js'

const request: ForwardRequest = JSON.parse(process.argv[2]!)
const {batch, length} = request
await useBackend('native', {threadShare: request.threads})
const model = await openModel(request.folder)
const tokens: TokenBatch = {
  ids: new Int32Array(new Uint8Array(readFileSync(request.ids)).buffer),
  ...{batch, length, lengths: Array<number>(batch).fill(length)},
}
const layers = []
for (let index = 0; index < model.facts.layers; index++) layers.push(await model.layer(index))
const embedded = await model.embed(tokens)
const times: number[] = []
let last: Uint8Array = new Uint8Array(0)
for (let run = 0; run <= request.repetitions; run++) {
  const begin = performance.now()
  let hidden = embedded.clone()
  for (const layer of layers) {
    const next = layer.forward(hidden, tokens, exactLayerAttention)
    hidden.dispose()
    hidden = next
  }
  times.push((performance.now() - begin) / 1e3)
  if (run === 0) {
    const {values} = hostData(() => ({values: tf.clone(hidden)}))
    last = new Uint8Array(values.slice().buffer)
  }
  hidden.dispose()
}
writeFileSync(request.output, last)
// the first run is not counted
process.stdout.write(`${JSON.stringify({seconds: Math.min(...times.slice(1))})}\n`)
