import {hostData} from '../attention/internal.js'
import {tf} from '../tf.js'

/**
 * Runs `1 + 1` on a backend, so that "available" means that kernels run, not that a module loads.
 * The backend that was current before is current afterwards.
 *
 * @throws whatever the backend throws, or an Error when the sum is not 2
 */
export async function runsTinyOperation(backend: string): Promise<void> {
  const before = tf.engine().backendName
  if (!(await tf.setBackend(backend))) throw new Error(`backend ${backend} did not initialise`)
  try {
    const {sum} = hostData(() => ({sum: tf.add(tf.tensor1d([1]), tf.tensor1d([1]))}))
    if (sum[0] !== 2) throw new Error(`backend ${backend} computed 1 + 1 = ${sum[0]}`)
  } finally {
    if (before) await tf.setBackend(before)
  }
}
