/**
 * `python/rfa_export.py` against PyTorch and Transformers: attention that `rfa apply` computes of an exported file is the
 * model's own. Needs a Python with `python/requirements.txt`, which `npm run test:python` makes; skipped without.
 */
import {spawnSync} from 'node:child_process'
import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import {beforeAll, describe, expect, it} from 'vitest'
import {openArrays, readArrays} from '../../src/inputs/files/index.js'
import {type NdArray, toFloat32} from '../../src/inputs/nd-array.js'
import {attend, exactly, scale as scaled} from '../helpers/bounded.js'
import {temporaryFolder} from '../helpers/folders.js'
import {addBounds, assertWithin, compare} from '../helpers/rounding.js'
import {PYTHON, python} from './python.js'

/** What `export_models.py` makes: the files of each model, whether it was causal, and whether its own output is there. */
const CASES = [
  {name: 'bert-sdpa', files: ['layer0', 'layer2'], padded: true, after: true},
  {name: 'bert-eager', files: ['layer0', 'layer2'], padded: true, after: true},
  {name: 'gpt2-sdpa', files: ['layers'], causal: true, padded: true, scaled: true, after: true},
  {name: 'gpt2-eager', files: ['layers'], causal: true, padded: true, scaled: true, after: true},
  {name: 'llama-sdpa', files: ['layer0', 'layer1'], causal: true, grouped: true},
  {name: 'llama-eager', files: ['layer0', 'layer1'], causal: true, grouped: true},
  ...['llama-sdpa-padded', 'llama-eager-padded'].map(name => ({
    ...{name, files: ['layers'], causal: true, padded: true, grouped: true, after: true},
  })),
  {name: 'llama-step', files: ['layer0', 'layer1'], grouped: true},
  {name: 'llama-bfloat16', files: ['layer0', 'layer1'], causal: true, grouped: true, half: true},
  {name: 'encoder', files: ['layer0', 'layer1'], padded: true},
  {name: 'multihead', files: ['layer0'], causal: true, padded: true},
  {name: 'multihead-causal', files: ['layer0'], causal: true},
  {name: 'multihead-cross', files: ['layer0'], padded: true},
  {name: 'own', files: ['layer0'], causal: true, scaled: true},
] as {
  name: string
  files: string[]
  causal?: boolean
  padded?: boolean
  grouped?: boolean
  scaled?: boolean
  half?: boolean
  /** What comes out of the output projection is there, too, and the residual stream. */
  after?: boolean
}[]

/** One layer of an exported file. */
interface Layer {
  number: string
  query: NdArray
  key: NdArray
  value: NdArray
  keyMask: NdArray | undefined
  causal: boolean
  logitScale: number
  output: NdArray | undefined
  residualNorm: NdArray | undefined
}

async function layersOf(path: string): Promise<Layer[]> {
  const {arrays, metadata} = await readArrays(path)
  const numbers = metadata.layers!.split(',')
  const prefixed = arrays.has(`layers.${numbers[0]}.q`)
  return numbers.map(number => {
    const place = prefixed ? `layers.${number}.` : ''
    const array = (name: string) => arrays.get(place + name)!
    const headDim = array('q').shape[3]!
    const told = metadata[`${place}scale`] ?? metadata.scale
    return {
      number,
      ...{query: array('q'), key: array('k'), value: array('v')},
      keyMask: arrays.get(`${place}key_mask`),
      output: arrays.get(`${place}o`),
      residualNorm: arrays.get(`${place}residual_norm`),
      causal: metadata.causal === 'true',
      logitScale: told === undefined ? headDim ** -0.5 : Number(told),
    }
  })
}

/** Half a unit in the last place of 1, in floats. */
const UNIT = 2 ** -24

/**
 * The outputs of all heads times the output projection are what the model adds. Both are rounded to float32: the attention
 * that enters, by the model, and what comes out.
 */
function assertProjected({output, number}: Layer, own: NdArray, added: NdArray): void {
  const [batch, heads, length, dim] = own.shape as [number, number, number, number]
  const [rows, width] = output!.shape as [number, number]
  expect([rows, width]).toEqual([heads * dim, added.shape[2]])
  const [from, weights] = [toFloat32(own), toFloat32(output!)]
  const wanted = new Float64Array(batch * length * width)
  const bounds = new Float64Array(wanted.length)
  for (let b = 0; b < batch; b++) {
    for (let i = 0; i < length; i++) {
      for (let row = 0; row < rows; row++) {
        const [h, d] = [Math.floor(row / dim), row % dim]
        const x = from[((b * heads + h) * length + i) * dim + d]!
        for (let w = 0; w < width; w++) {
          const product = x * weights[row * width + w]!
          wanted[(b * length + i) * width + w]! += product
          bounds[(b * length + i) * width + w]! += UNIT * Math.abs(product)
        }
      }
    }
  }
  assertWithin(`layer ${number}: projected`, toFloat32(added), wanted, bounds)
}

/** The root mean square length of rows of tokens that are no padding; a row is a sum of fewer than 64 squares in float32. */
function assertNorm({keyMask, residualNorm}: Layer, stream: NdArray): void {
  const [, , width] = stream.shape as [number, number, number]
  const rows = toFloat32(stream)
  let [squares, count] = [0, 0]
  for (let row = 0; row * width < rows.length; row++) {
    if (keyMask && Number(keyMask.data[row]) === 0) continue
    for (const x of rows.subarray(row * width, (row + 1) * width)) squares += x * x
    count++
  }
  const [norm] = toFloat32(residualNorm!)
  expect(Math.abs(norm! / Math.sqrt(squares / count) - 1)).toBeLessThan(64 * UNIT)
}

/** What softmax attention of a layer is, and how far float32 may take it: of q.k scaled after or before the product. */
function softmaxOf({query, key, value, keyMask, causal, logitScale}: Layer) {
  const [batch, heads, queryLen, headDim] = query.shape as [number, number, number, number]
  const [, keyHeads, keyLen, valueDim] = value.shape as [number, number, number, number]
  const out = new Float64Array(batch * heads * queryLen * valueDim)
  const bounds = new Float64Array(out.length)
  const matrix = (array: NdArray, at: number, rows: number, columns: number) =>
    exactly(
      toFloat32(array).subarray(at * rows * columns, (at + 1) * rows * columns),
      rows,
      columns,
    )
  for (let b = 0; b < batch; b++) {
    const sees = (i: number, j: number) =>
      (!keyMask || Number(keyMask.data[b * keyLen + j]) !== 0) && (!causal || j <= i)
    for (let h = 0; h < heads; h++) {
      const at = b * heads + h
      const shared = b * keyHeads + Math.floor(h / (heads / keyHeads))
      const q = matrix(query, at, queryLen, headDim)
      const k = matrix(key, shared, keyLen, headDim)
      const v = matrix(value, shared, keyLen, valueDim)
      const half = Math.sqrt(logitScale)
      const after = attend(q, k, v, {scale: logitScale, sees}).out
      const before = attend(scaled(q, half), scaled(k, half), v, {sees}).out
      out.set(after.value, at * queryLen * valueDim)
      bounds.set(addBounds(after.error, before.error), at * queryLen * valueDim)
    }
  }
  return {out, bounds}
}

const made = temporaryFolder()

describe.runIf(PYTHON)('files of rfa_export', () => {
  beforeAll(async () => {
    await python(['test/python/export_models.py', made])
  })

  describe.each(CASES)('$name', ({name, files, causal, padded, grouped, after, ...kind}) => {
    const {scaled: other, half} = kind
    const paths = files.map(file => join(made, name, `${file}.safetensors`))

    it('say how the model ran', async () => {
      for (const path of paths) {
        const file = await openArrays(path)
        await file.close()
        expect(file.metadata.causal).toBe(String(causal ?? false))
        expect(file.metadata.layout).toBe('bhld')
        const layers = await layersOf(path)
        expect(layers.length).toBeGreaterThan(0)
        for (const {query, key, keyMask, logitScale} of layers) {
          expect(query.dtype).toBe(half ? 'bfloat16' : 'float32')
          expect(keyMask !== undefined).toBe(padded ?? false)
          expect(key.shape[1] !== query.shape[1]).toBe(grouped ?? false)
          if (!other) expect(logitScale).toBe(query.shape[3]! ** -0.5)
        }
        if (other) {
          expect(layers.some(({query, logitScale}) => logitScale !== query.shape[3]! ** -0.5)).toBe(
            true,
          )
        }
      }
    })

    it('give what the model computed, and the program computes the same', async () => {
      const own = half ? undefined : await readArrays(join(made, name, 'own.safetensors'))
      let compared = 0
      for (const path of paths) {
        const applied = await readArrays(apply(path, causal ?? false))
        const layers = await layersOf(path)
        for (const layer of layers) {
          const {out, bounds} = softmaxOf(layer)
          const outName = layers.length > 1 ? `layers.${layer.number}.out` : 'out'
          const label = `${name}, layer ${layer.number}`
          assertWithin(`${label}: rfa apply`, toFloat32(applied.arrays.get(outName)!), out, bounds)
          compared++
          if (!own) continue
          const model = toFloat32(own.arrays.get(`layers.${layer.number}.own`)!)
          assertWithin(`${label}: the model`, model, out, bounds)
          for (const wrong of wrongOf(layer)) {
            const {out: elsewhere, bounds: theirs} = softmaxOf(wrong)
            expect(compare(model, elsewhere, theirs).ok).toBe(false)
          }
        }
      }
      if (own) expect(compared).toBe(own.arrays.size)
    })

    it.runIf(after)('hold the output projection and the norm of the residual stream', async () => {
      const own = await readArrays(join(made, name, 'own.safetensors'))
      const {arrays} = await readArrays(join(made, name, 'after.safetensors'))
      for (const layer of (await Promise.all(paths.map(layersOf))).flat()) {
        const place = `layers.${layer.number}`
        assertProjected(layer, own.arrays.get(`${place}.own`)!, arrays.get(`${place}.added`)!)
        assertNorm(layer, arrays.get(`${place}.stream`)!)
      }
    })
  })

  it('find what comes after attention in modules of other people', async () => {
    await python(['test/python/outputs.py'])
  })

  it('hold the output matrix where heads times it are added, in plain models and in others', async () => {
    const said = await python(['test/python/output_matrices.py'])
    expect(said.trim().split('\n').length).toBeGreaterThan(20)
  })
})

/** The same layer, misunderstood: the comparison must tell. */
function wrongOf(layer: Layer): Layer[] {
  const {query, keyMask, causal, logitScale} = layer
  const wrong: Layer[] = []
  if (keyMask) wrong.push({...layer, keyMask: undefined})
  if (query.shape[2]! > 1) wrong.push({...layer, causal: !causal})
  wrong.push({...layer, logitScale: logitScale * 1.01})
  return wrong
}

/** `rfa apply --method softmax`; the file that it wrote. */
function apply(input: string, causal: boolean): string {
  const output = input.replace('.safetensors', '-out.safetensors')
  const argv = ['apply', '--method', 'softmax', '--input', input, '--output', output]
  if (causal) argv.push('--causal')
  const run = spawnSync(process.execPath, ['bin/run.js', ...argv], {encoding: 'utf8'})
  expect(run.status, run.stderr).toBe(0)
  return output
}

describe.runIf(PYTHON)('refusals of rfa_export', () => {
  it('say what was expected, what came, what to try', async () => {
    await python(['test/python/refusals.py'])
  })
})

describe.runIf(PYTHON)('fixtures/make-minilm.py', () => {
  it('makes the files that are there, as near to the model as the manifest says', async () => {
    const said = await python(['fixtures/make-minilm.py', '--check'])
    const manifest = JSON.parse(readFileSync('fixtures/manifest.json', 'utf8'))
    const reports = said
      .split(/(?=minilm-layer\d\.safetensors: )/)
      .filter(text => /^minilm/.test(text))
    expect(reports).toHaveLength(2)
    for (const report of reports) {
      const claims = manifest[report.split(':')[0]!].float16
      const found = [
        ...report.matchAll(/RMS error of the output (\S+), largest error (\S+), .* bound (\S+), /g),
      ]
      expect(found).toHaveLength(2)
      // the order of the model's sums differs between processors: some values are rounded to another float16, and each
      // is said with three digits at most
      for (const [, rms, largest, share] of found) {
        expect(Math.abs(Number(rms) / claims.relative_rms_error - 1)).toBeLessThan(0.01)
        expect(Math.abs(Number(largest) / claims.largest_error - 1)).toBeLessThan(0.05)
        expect(Math.abs(Number(share) - claims.largest_share_of_its_bound)).toBeLessThan(0.02)
      }
    }
  })
})
