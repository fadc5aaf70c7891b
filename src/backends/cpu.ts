import {messageOf} from '../errors.js'
import {requirePackage, tf} from '../tf.js'
import {runsTinyOperation} from './check.js'
import type {Backend} from './types.js'

requirePackage('@tensorflow/tfjs-backend-cpu')

const DETAIL = `TensorFlow.js ${tf.version_core} in plain JavaScript, one thread`

/** TensorFlow.js in plain JavaScript: slow everywhere, available everywhere, the judge in tests. */
const cpu: Backend = {
  threading: 'one',
  sameBits: true,
  async probe() {
    try {
      await runsTinyOperation('cpu')
      return {available: true, detail: DETAIL}
    } catch (error) {
      return {
        available: false,
        detail: DETAIL,
        reason: messageOf(error),
        remedy: 'reinstall: npm ci',
      }
    }
  },
  async activate() {
    await tf.setBackend('cpu')
  },
  facts: () => ({threads: 1, instructionSet: null}),
}
export default cpu
