/** Forward passes of whole models against Transformers on PyTorch. */
import {copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {packagedFile} from '../src/inputs/packaged.js'
import {output, type Peer, spread} from './experiment-runs.js'
import type {ForwardRow} from './report-schema.js'

/** What both engines are asked. */
export interface ForwardRequest {
  /** Model as Hugging Face writes it. */
  folder: string
  /** File of token ids, int32 `[batch, length]`. */
  ids: string
  /** File for the output of the last layer, before a final norm: float32 `[batch, length, width]`. */
  output: string
  batch: number
  length: number
  /** Runs that are timed, after one that is not. */
  repetitions: number
  threads: number
}

type ForwardCase = Pick<ForwardRequest, 'folder' | 'batch' | 'length'> & {name: string}

const RUN = fileURLToPath(new URL('forward-run.js', import.meta.url))
const REPETITIONS = 5
/** Largest distance of two right outputs, over the largest number in them. */
const TOLERANCE = 1e-5
/** Ids that are words in both models: from the first one on, so many. */
const [FIRST_ID, IDS] = [2000, 20_000]

/** The cases, with their models in a folder that `dispose` removes. None where the peer lacks Transformers. */
export function forwardCases(peer: Peer | undefined): {cases: ForwardCase[]; dispose(): void} {
  const folder = mkdtempSync(join(tmpdir(), 'rfa-forwards-'))
  const dispose = () => rmSync(folder, {recursive: true})
  const made = peer?.run({experiment: 'models', folder}, 1).answer
  const cases: ForwardCase[] = []
  if (made?.gpt2) {
    const gpt2 = join(folder, 'gpt2')
    copyFileSync(packagedFile('charlm/tokenizer.json'), join(gpt2, 'tokenizer.json'))
    const name = 'forward GPT-2, 6 layers x 384, 8 texts x 256 tokens'
    cases.push({name, folder: gpt2, batch: 8, length: 256})
  }
  if (made?.minilm) {
    const name = 'forward MiniLM, 16 texts x 128 tokens'
    cases.push({name, folder: join(folder, 'minilm'), batch: 16, length: 128})
  }
  return {cases, dispose}
}

/** Engines and forms of attention in turn, round by round, after one round that is checked and not counted. */
export function measureForward(
  {name, ...sizes}: ForwardCase,
  {threads, peer, rounds}: {threads: number; peer: Peer; rounds: number},
): ForwardRow {
  process.stderr.write(`${name}, threads ${threads}\n`)
  const scratch = mkdtempSync(join(tmpdir(), 'rfa-forward-'))
  const ids = join(scratch, 'ids')
  writeFileSync(ids, idsOf(sizes))
  const asked = (engine: string): ForwardRequest => {
    return {...sizes, ids, output: join(scratch, engine), repetitions: REPETITIONS, threads}
  }
  const torch = (attention: string) => {
    const request = {experiment: 'forward', attention, ...asked(attention)}
    return peer.run(request, threads).answer.seconds
  }
  const times = {rfa: [] as number[], eager: [] as number[], sdpa: [] as number[]}
  let difference = 0
  try {
    for (let round = 0; round <= rounds; round++) {
      const rfa = JSON.parse(output(process.execPath, [RUN, JSON.stringify(asked('rfa'))])).seconds
      const [eager, sdpa] = [torch('eager'), torch('sdpa')]
      if (round === 0) {
        difference = Math.max(...['eager', 'sdpa'].map(form => apart(scratch, form)))
        if (!(difference <= TOLERANCE)) {
          throw new Error(`${name}: expected outputs within ${TOLERANCE}, got ${difference}`)
        }
        continue
      }
      times.rfa.push(rfa)
      times.eager.push(eager)
      times.sdpa.push(sdpa)
    }
  } finally {
    rmSync(scratch, {recursive: true})
  }
  const [rfa, eager, sdpa] = [spread(times.rfa), spread(times.eager), spread(times.sdpa)]
  const ratios = {eager_over_rfa: eager.min_s / rfa.min_s, sdpa_over_rfa: sdpa.min_s / rfa.min_s}
  return {name, threads, rfa, torch_eager: eager, torch_sdpa: sdpa, ...ratios, difference}
}

function idsOf({batch, length}: Pick<ForwardCase, 'batch' | 'length'>): Int32Array {
  // Knuth's multiplicative hash
  return Int32Array.from(
    {length: batch * length},
    (_, i) => FIRST_ID + ((Math.imul(i + 1, 0x9e3779b1) >>> 8) % IDS),
  )
}

/** Largest distance from what PyTorch computes, over the largest number there. */
function apart(folder: string, form: string): number {
  const [own, wanted] = ['rfa', form].map(engine => {
    const bytes = readFileSync(join(folder, engine))
    return new Float32Array(new Uint8Array(bytes).buffer)
  })
  let [distance, largest] = [0, 0]
  wanted!.forEach((value, i) => {
    const off = Math.abs(own![i]! - value)
    distance = off <= distance ? distance : off // NaN stays
    largest = Math.max(largest, Math.abs(value))
  })
  return distance / largest
}
