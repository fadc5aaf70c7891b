#!/usr/bin/env node
/**
 * Stands for a Python with python/rfa_peers.py: speaks as that does, and misbehaves as RFA_FAKE_PYTHON says. Its only method
 * is softmax, and a run of L tokens takes it L us, or a little more.
 */
import {appendFileSync} from 'node:fs'

const how = process.env.RFA_FAKE_PYTHON ?? 'right'
const say = answer => process.stdout.write(`${JSON.stringify(answer)}\n`)
const kept = process.env.RFA_FAKE_PYTHON_PIDS
if (kept) appendFileSync(kept, `${process.pid}\n`)

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})

if (how === 'endless') {
  const zeros = Buffer.alloc(2 ** 20)
  const more = () => process.stdout.write(zeros, more)
  more()
} else if (how !== 'silent') say({loading: 'torch', pid: process.pid})
if (how === 'missing') {
  say({missing: "ModuleNotFoundError: No module named 'torch'"})
  process.exit(1)
}
if (how === 'silent' || how === 'loading') setInterval(() => {}, 1000)
else if (how !== 'endless') {
  say({version: '9.9.9', packages: {torch: '9.9.9'}, python: '3.99.0', instruction_set: 'FAKE'})
}

/** Most cases that it holds where memory is short: one of each of two cells. */
const MOST = how === 'crammed' ? 2 : Number.POSITIVE_INFINITY
const cases = new Map()
let made = 0

let buffer = Buffer.alloc(0)
let busy = false
process.stdin.on('end', () => process.exit())
process.stdin.on('data', data => {
  if (busy) crash('asked before it has answered')
  buffer = Buffer.concat([buffer, data])
  const end = buffer.indexOf('\n')
  if (end < 0) return
  const request = JSON.parse(buffer.subarray(0, end).toString())
  const floats = buffer.subarray(end + 1)
  if (floats.length < (request.bytes ?? 0)) return
  if (floats.length > (request.bytes ?? 0)) crash('asked twice at once')
  buffer = Buffer.alloc(0)
  busy = true
  // long enough for another request to come too early
  setTimeout(() => {
    busy = false
    answer(request, floats)
  }, 2)
})

function crash(words) {
  process.stderr.write(`Fatal Python error: ${words}\n`)
  process.kill(process.pid, 'SIGKILL')
}

function answer(request, data) {
  if (request.do === 'make') {
    if (how === 'error' || cases.size === MOST)
      return say({error: 'RuntimeError: out of fake memory'})
    cases.set(++made, {...request.case, floats: new Float32Array(Uint8Array.from(data).buffer)})
    return say({id: made})
  }
  const given = cases.get(request.id)
  if (!given) return say({error: `KeyError: ${request.id}`})
  if (request.do === 'drop') {
    cases.delete(request.id)
    say({dropped: request.id})
  } else if (request.do === 'output') {
    const floats = how === 'wrong' ? softmax(given).map(x => 1.01 * x) : softmax(given)
    say({output: Buffer.from(floats.buffer).toString('base64')})
  } else if (how === 'crash') crash('Segmentation fault')
  else if (how === 'garbage') process.stdout.write('Warning: something else\n')
  else if (how === 'nonsense') say({ns: [-1]})
  else if (how !== 'hang') {
    const ns = at => 1000 * given.length + 1e4 * at
    say({ns: Array.from({length: Math.min(request.runs, 3)}, (_, at) => ns(at))})
  }
}

/** `[B, H, L, Dv]` in double precision. */
function softmax({batch, heads, length, head_dim, value_dim, causal, floats}) {
  const sizes = [head_dim, head_dim, value_dim].map(dim => batch * heads * length * dim)
  const starts = [0, sizes[0], sizes[0] + sizes[1]]
  const row = (array, dim, at) =>
    floats.subarray(starts[array] + at * dim, starts[array] + (at + 1) * dim)
  const out = new Float32Array(sizes[2])
  for (let at = 0; at < batch * heads * length; at++) {
    const first = at - (at % length)
    const query = row(0, head_dim, at)
    const weights = Array.from({length: causal ? (at % length) + 1 : length}, (_, j) => {
      const key = row(1, head_dim, first + j)
      return Math.exp(query.reduce((sum, x, d) => sum + x * key[d], 0) * head_dim ** -0.5)
    })
    const total = weights.reduce((sum, x) => sum + x, 0)
    for (let d = 0; d < value_dim; d++) {
      const sum = weights.reduce((all, w, j) => all + w * row(2, value_dim, first + j)[d], 0)
      out[at * value_dim + d] = sum / total
    }
  }
  return out
}
