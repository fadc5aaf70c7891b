import {messageOf} from '../errors.js'
import {requirePackage, tf} from '../tf.js'
import {runsTinyOperation} from './check.js'
import type {Backend} from './types.js'

requirePackage('@tensorflow/tfjs-backend-wasm')
tf.registerKernel({
  kernelName: 'UnsortedSegmentSum',
  backendName: 'wasm',
  kernelFunc: ({inputs, attrs, backend}) => segmentSum(inputs, attrs, backend as WasmMemory),
})

const DETAIL = `TensorFlow.js ${tf.version_core} WebAssembly, one thread`

/** TensorFlow.js on WebAssembly with SIMD: the portable floor. In Node it has one thread. */
const wasm: Backend = {
  threading: 'one',
  sameBits: true,
  async probe() {
    try {
      await runsTinyOperation('wasm')
      return {available: true, detail: `${DETAIL}, SIMD ${(await hasSimd()) ? 'yes' : 'no'}`}
    } catch (error) {
      return {
        available: false,
        detail: DETAIL,
        reason: messageOf(error),
        remedy: 'reinstall @tensorflow/tfjs-backend-wasm: npm ci',
      }
    }
  },
  async activate() {
    await tf.setBackend('wasm')
    simd = await hasSimd()
  },
  facts: () => ({threads: 1, instructionSet: simd ? 'wasm-simd128' : 'wasm'}),
}
export default wasm

/** What a kernel of this backend takes of it. */
interface WasmMemory {
  typedArrayFromHeap(tensor: tf.TensorInfo): Float32Array | Int32Array
  makeOutput(shape: readonly number[], dtype: tf.DataType): tf.TensorInfo
}

/** Sums of rows by index, the gradient of an embedding, which the package lacks. Rows with other indices than 0 to `numSegments` are left out. */
function segmentSum(
  {x, segmentIds}: Parameters<tf.KernelFunc>[0]['inputs'],
  attrs: tf.NamedAttrMap | undefined,
  memory: WasmMemory,
): tf.TensorInfo {
  const {numSegments} = attrs ?? {}
  const segments = Number(numSegments)
  const rest = x!.shape.slice(segmentIds!.shape.length)
  const out = memory.makeOutput([segments, ...rest], x!.dtype)
  const [rows, indices] = [memory.typedArrayFromHeap(x!), memory.typedArrayFromHeap(segmentIds!)]
  const sums = memory.typedArrayFromHeap(out).fill(0)
  const columns = rest.reduce((a, b) => a * b, 1)
  indices.forEach((segment, row) => {
    if (segment < 0 || segment >= segments) return
    for (let column = 0; column < columns; column++) {
      sums[segment * columns + column]! += rows[row * columns + column]!
    }
  })
  return out
}

let simd = false

async function hasSimd(): Promise<boolean> {
  return Boolean(await tf.env().getAsync('WASM_HAS_SIMD_SUPPORT'))
}
