/** Both engines of `rfa swap` on the same models, and the one of Transformers on others. `npm run test:python`. */
import {spawnSync} from 'node:child_process'
import {writeFile} from 'node:fs/promises'
import {join, resolve} from 'node:path'
import {describe, expect, it} from 'vitest'
import {z} from 'zod'
import {loadEstimators} from '../../src/attention/names.js'
import {toBenchPlan} from '../../src/cli/plans/bench.js'
import {timedModel} from '../../src/cli/plans/bench-model.js'
import {pretrained, swapFiles} from '../../src/cli/plans/swap-files.js'
import {benchGrid} from '../../src/experiments/bench/grid.js'
import {runBenchCell} from '../../src/experiments/bench/measure/cell.js'
import {benchResult} from '../../src/experiments/bench/schema.js'
import {modelDigest} from '../../src/experiments/model-digest.js'
import {runSwapCell} from '../../src/experiments/swap/measure/cell.js'
import {type SwapCell, type SwapResult, swapResult} from '../../src/experiments/swap/schema.js'
import {exportLayers} from '../../src/export/export.js'
import {readArrays} from '../../src/inputs/files/index.js'
import {packageRoot} from '../../src/package.js'
import {newFolder} from '../helpers/folders.js'
import {modelFolder, type TinyModel, WORDS, writeJson} from '../helpers/model-folders.js'
import {swapCellOf} from '../helpers/swap-cells.js'
import {PYTHON, python} from './python.js'

/** A guard against hanging, in ms. */
const PATIENCE = 30 * 60_000
/**
 * Float32 in another order of sums: a few thousand roundings of 6e-8 in hidden states, each a part of the largest entry, which logits
 * and cosines multiply by at most some ten.
 */
const TOLERANCE = 1e-5
/** Half of an interval over two texts, of one degree of freedom, has so much of a difference between them: t at 97.5 %. */
const STUDENT = 12.71
const METHODS: readonly [string, number | null][] = [
  ['softmax', null],
  ['mean-value', null],
  ['elu', null],
  ['favor-pos', 8],
  ['oprf', 8],
]
const TEXTS = ['a b c d e f', 'g h', 'i a c e g', 'b d f h a b c d']

async function resultOf(cell: SwapCell): Promise<SwapResult> {
  const outcome = await runSwapCell(cell)
  if (outcome.status !== 'completed') throw new Error(outcome.reason)
  return swapResult.parse(outcome.result)
}

async function byTransformers(cell: SwapCell): Promise<SwapCell> {
  const pinned = async ({folder}: SwapCell['model']) => ({
    folder,
    digest: await modelDigest(folder, 'transformers'),
  })
  const original = cell.original && {original: await pinned(cell.original)}
  return {...cell, model: await pinned(cell.model), ...original, engine: 'transformers'}
}

/** A model of made-up weights. @param factor - on all of them */
async function tiny(kind: TinyModel, factor = 1): Promise<string> {
  const folder = await modelFolder(kind, {
    arrays: arrays => {
      for (const {data} of Object.values(arrays)) {
        for (let i = 0; i < data.length; i++) data[i] = factor * Number(data[i])
      }
    },
  })
  writeJson(folder, 'tokenizer_config.json', {tokenizer_class: 'PreTrainedTokenizerFast'})
  return folder
}

/** Every number of a result, by its place. */
function numbersOf(value: unknown, place = ''): [string, number | null][] {
  if (value === null || typeof value === 'number') return [[place, value]]
  if (typeof value !== 'object') return []
  return Object.entries(value).flatMap(([name, own]) => numbersOf(own, `${place}.${name}`))
}

/** What means the same whatever computed it. */
function comparable(result: SwapResult) {
  const {engine, backend, instruction_set, threads, processes, ...rest} = result
  return numbersOf(rest)
}

describe.runIf(PYTHON)('both engines', {timeout: PATIENCE}, () => {
  it.each(['charlm', 'gpt2', 'llama', 'bert'] as const)('agree on %s', async kind => {
    const model = kind === 'charlm' ? {count: 6} : {model: await tiny(kind), texts: TEXTS}
    // the same files for all: a process of Python is kept for them
    const base = await swapCellOf('elu', model)
    const folder = kind === 'charlm' ? base.model.folder : await tiny(kind, 1.1)
    const other = {folder, digest: await modelDigest(folder)}
    const apart: [string, string, number][] = []
    for (const [method, M] of METHODS) {
      const drawn = M === null ? {} : {projection: 'orth' as const, num_features: M, replicates: 2}
      const whole: SwapCell = {...base, ...drawn, method}
      const cells = method === 'elu' ? [whole, {...whole, layers: [1]}] : [whole]
      if (kind !== 'charlm' && M !== null) cells.push({...whole, layers: [1], original: other})
      for (const cell of cells) {
        const [own, other] = [await resultOf(cell), await resultOf(await byTransformers(cell))]
        expect(other.engine).toMatchObject({name: 'transformers', device: 'cpu'})
        const wanted = new Map(comparable(own))
        const found = comparable(other)
        expect(found.map(([place]) => place)).toEqual([...wanted.keys()])
        for (const [place, got] of found) {
          const number = wanted.get(place)!
          // ranks and neighbours of few texts jump where two are alike
          if (/spearman|neighbour|nearest/.test(place)) continue
          if (number === null || got === null) {
            if (number !== got) apart.push([method, place, Number.NaN])
            continue
          }
          const off = Math.abs(got - number) / Math.max(1, Math.abs(number))
          const ends = /\.(low|high)$/.test(place) ? STUDENT : 1
          if (!(off <= ends * TOLERANCE)) apart.push([method, place, off])
        }
      }
    }
    expect(apart).toEqual([])
  })

  it.each(['gpt2', 'llama', 'bert'] as const)('export the same layers of %s', async kind => {
    const folder = await newFolder()
    const texts = join(folder, 'texts.txt')
    await writeFile(texts, TEXTS.join('\n'))
    const request = {
      ...{model: await tiny(kind), texts, maxTexts: 9, maxTokens: 99, force: false},
      ...{layers: 'all' as const, backend: 'cpu' as const},
    }
    const [own, other] = await Promise.all(
      (['native', 'transformers'] as const).map(engine =>
        exportLayers({...request, engine, output: join(folder, engine)}),
      ),
    )
    const {backend, instruction_set, threads, processes, layers, ...facts} = own!
    expect(other).toMatchObject({...facts, backend: 'torch'})
    for (const [index, {path}] of layers.entries()) {
      const [wanted, found] = [await readArrays(path), await readArrays(other!.layers[index]!.path)]
      expect([...found.arrays.keys()].sort()).toEqual([...wanted.arrays.keys()].sort())
      expect(found.metadata).toEqual(wanted.metadata)
      for (const [name, array] of wanted.arrays) {
        const {shape, data} = found.arrays.get(name)!
        expect(shape).toEqual(array.shape)
        const numbers = Float64Array.from(array.data as Float32Array)
        const most = Math.max(...numbers.map(Math.abs))
        const off = numbers.map((value, at) => Math.abs(Number(data[at]) - value) / most)
        expect(Math.max(...off), name).toBeLessThan(TOLERANCE)
      }
    }
  })

  it('learn the same', async () => {
    const folder = await newFolder()
    const texts = join(folder, 'texts.txt')
    const lines = Array.from({length: 12}, (_, at) => {
      const word = (place: number) => WORDS[4 + ((at * (place + 3) + place) % 9)]
      return Array.from({length: 8}, (_, place) => word(place)).join(' ')
    })
    await writeFile(texts, lines.join('\n'))
    const model = await tiny('gpt2')
    const losses = ['native', 'transformers'].map(engine => {
      const sizes = ['--num-features', '8', '--draws', '1', '--steps', '3', '--threads', '1']
      const flags = ['--model', model, '--texts', texts, '--engine', engine, ...sizes]
      const argv = ['tune', ...flags, '--output', join(folder, engine), '--json']
      const {status, stdout, stderr} = spawnSync(join(packageRoot(), 'bin', 'run.js'), argv, {
        encoding: 'utf8',
        env: {...process.env, RFA_PYTHON: PYTHON},
      })
      expect(status, stderr).toBe(0)
      const {records} = z.object({records: z.array(learnedRecord)}).parse(JSON.parse(stdout))
      expect(records.filter(({cell}) => cell.tuned)).toHaveLength(1)
      return records.map(({result}) => result.causal_effects.nats_added.mean)
    })
    const [own, other] = losses as [number[], number[]]
    expect(other).toHaveLength(own.length)
    // gradients of the same arrays up to float32, three steps long
    own.forEach((loss, at) => {
      expect(Math.abs(other[at]! - loss)).toBeLessThan(TOLERANCE * Math.max(1, Math.abs(loss)))
    })
  })

  it('time a model with what a swap exchanges, in some of its layers', async () => {
    const model = await pretrained({model: await tiny('gpt2'), engine: 'transformers'})
    const named = {model: model.pinned.folder, engine: 'transformers' as const}
    for (const [name, value] of [
      ['redraw', 'call'],
      ['backend', ['wasm']],
    ] as const) {
      const idle = timedModel({...named, [name]: value})
      await expect(idle).rejects.toThrow(`--${name}: expected nothing where Transformers runs`)
    }
    const flags = {methods: ['elu', 'favor-pos', 'nystrom'], 'num-features': [[8]], layers: '1'}
    const asked = {...flags, 'seq-len': [[9]], quick: true, exact: true, breakdown: false}
    const plan = toBenchPlan(asked, await loadEstimators(), undefined, undefined, model)
    expect(plan).toMatchObject({mode: 'model', layers: [1], engine: {name: 'transformers'}})
    const grid = await benchGrid(plan)
    const timing = {warmup_runs: 0, min_runs: 2, max_runs: 2, min_time_ns: 0}
    const runs: [string, unknown][] = []
    for (const cell of grid.cells()) {
      const outcome = await runBenchCell({...cell, timing})
      if (outcome.status !== 'completed') {
        runs.push([cell.method, outcome.reason])
        continue
      }
      const {gate, backend, engine, median_ns, model_layers} = benchResult.parse(outcome.result)
      expect([backend, engine!.name, model_layers]).toEqual(['torch', 'transformers', 2])
      expect(median_ns).toBeGreaterThan(0)
      // what passes is a thousandth of the largest entry
      runs.push([cell.method, gate!.max_abs_error <= TOLERANCE * 1000 * gate!.bound])
    }
    expect(Object.fromEntries(runs)).toEqual({
      ...{'softmax-online': true, identity: true, elu: true, 'favor-pos': true},
      nystrom: 'rfa.torch has no such method',
    })
  })

  it('leave texts by lara what they are alone, and skip what rfa.torch lacks', async () => {
    const model = {model: await tiny('bert'), texts: TEXTS, M: 3}
    const cell: SwapCell = {...(await swapCellOf('lara', model)), projection: null}
    const drawn = await byTransformers(cell)
    const [own, other] = [await resultOf(cell), await resultOf(drawn)]
    const loss = (result: SwapResult) => result.encoder_effects!.cosine_loss.mean!
    expect(Math.abs(loss(own) - loss(other))).toBeLessThan(TOLERANCE)
    for (const [changes, reason] of [
      [{method: 'nystrom'}, 'rfa.torch has no such method'],
      [{preset: 'hku'}, 'rfa.torch has the exact form only'],
      [{options: {mixing: 'none'}}, 'rfa.torch has no option mixing of it'],
    ] as const) {
      const skipped = await runSwapCell({...drawn, ...changes})
      expect(skipped).toEqual({status: 'skipped', reason})
    }
  })
})

const learnedRecord = z.object({
  cell: z.object({tuned: z.unknown().optional()}),
  result: z.object({causal_effects: z.object({nats_added: z.object({mean: z.number()})})}),
})

interface Tried {
  kind: string
  outcome: string
  reads?: string
  why?: string
  softmax: number
  elu: number
  softmax_nats?: number
  elu_kl?: number
}

/** Architectures that are not refused: a test that only looks at differences passes where everything is. */
const READ = {
  texts: [
    'qwen2',
    'qwen3',
    'gpt_neox',
    'phi',
    'opt',
    'gemma',
    'distilbert',
    'albert',
    'modernbert',
  ],
  arrays: ['vit', 'clip', 'whisper', 'wav2vec2', 'dinov2', 'hubert'],
}
const REFUSED = {gemma2: /softcap/, gpt_oss: /s_aux/, mpt: /MptAttention/, t5: /position_bias/}

describe.runIf(PYTHON)('the engine of Transformers', {timeout: PATIENCE}, () => {
  it('runs every architecture, or refuses it: softmax changes what rounding does, elu more', async () => {
    const said = await python([resolve('test/python/engine_architectures.py'), '2'])
    const tried = said
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as Tried)
    const of = (outcome: string) => tried.filter(own => own.outcome === outcome)
    expect(of('failed').map(({kind, why}) => `${kind}: ${why}`)).toEqual([])
    for (const {why} of of('refused')) expect(why).toMatch(/expected .*, got /)
    for (const own of of('ran')) {
      const {kind} = own
      expect(own.softmax, kind).toBeGreaterThan(0)
      expect(own.softmax, kind).toBeLessThan(1e-5)
      expect(own.elu, kind).toBeGreaterThan(1e-4)
      if (own.softmax_nats === undefined) continue
      expect(Math.abs(own.softmax_nats), kind).toBeLessThan(1e-5)
      expect(own.elu_kl, kind).toBeGreaterThan(1e-5)
    }
    for (const [reads, kinds] of Object.entries(READ)) {
      const own = of('ran').filter(each => each.reads === reads)
      expect(own.length, reads).toBeGreaterThanOrEqual(30)
      expect(own.map(({kind}) => kind)).toEqual(expect.arrayContaining(kinds))
    }
    const refused = new Map(of('refused').map(({kind, why}) => [kind, why]))
    for (const [kind, why] of Object.entries(REFUSED)) expect(refused.get(kind), kind).toMatch(why)
  })

  it('reads arrays as rfa.torch.use does, and says what is wrong with others', async () => {
    const folder = await newFolder()
    const said = await python([resolve('test/python/engine_arrays.py'), folder])
    const {wanted, refused} = JSON.parse(said) as {
      wanted: Record<string, {loss: number; same_class?: number}>
      refused: Record<string, string>
    }
    for (const [name, {loss, same_class: same}] of Object.entries(wanted)) {
      const named = {model: join(folder, name), inputs: join(folder, `${name}.npz`)}
      const {facts, model, texts, engine} = await swapFiles({...named, engine: 'auto'})
      const {lines: count, ...file} = texts
      const cell: SwapCell = {
        ...(await swapCellOf('elu')),
        ...{layers: [0, 1], model, texts: {...file, count}, engine: engine!.name},
        ...{causal: facts.causal, max_tokens: facts.maxTokens},
      }
      const {encoder_effects: effects, texts_read} = await resultOf(cell)
      expect(texts_read).toBe(12)
      expect(Math.abs(effects!.cosine_loss.mean! - loss), name).toBeLessThan(TOLERANCE)
      expect(effects!.class_agreement?.mean, name).toBe(same)
    }
    expect(refused).toEqual({
      uneven: expect.stringMatching(/expected arrays with a row for each item, .*, got pixel_val/),
      unknown: expect.stringMatching(/expected arrays that ViTFor.* takes.*, got labels_of_mine/),
      infinite: expect.stringMatching(/expected finite numbers, got pixel_values with others/),
      left: expect.stringMatching(/padding after the last, got another attention_mask/),
      objects: expect.stringMatching(/expected an .npz file of arrays, got/),
      text: expect.stringMatching(/expected an .npz file of arrays, got/),
      vit: expect.stringMatching(/expected a model that reads tokens alone, got vit, which reads/),
      clip: expect.stringMatching(/expected a model that .* alone, got clip/),
      whisper: expect.stringMatching(/got whisper, an encoder with a decoder/),
    })
  })

  it('is taken where the program does not read the folder, and names what it refuses', async () => {
    const folder = await newFolder()
    const config = {model_type: 'gemma2', attn_logit_softcapping: 50}
    writeJson(folder, 'config.json', config)
    await writeFile(join(folder, 'texts.txt'), 'a b c')
    const named = {model: folder, texts: join(folder, 'texts.txt')}
    await expect(swapFiles({...named, engine: 'native'})).rejects.toMatchObject({
      message: expect.stringMatching(/expected a model_type of/),
    })
    await expect(swapFiles({...named, engine: 'auto'})).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringMatching(/got gemma2 with a cap on the logits of attention/),
    })
  })
})
