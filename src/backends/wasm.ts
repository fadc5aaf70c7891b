import {messageOf} from '../errors.js'
import {requirePackage, tf} from '../tf.js'
import {runsTinyOperation} from './check.js'
import type {Backend} from './types.js'

requirePackage('@tensorflow/tfjs-backend-wasm')

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

let simd = false

async function hasSimd(): Promise<boolean> {
  return Boolean(await tf.env().getAsync('WASM_HAS_SIMD_SUPPORT'))
}
