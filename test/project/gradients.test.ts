/** The built module `rfa/gradients`, in a process of its own. */
import {execFileSync} from 'node:child_process'
import {readFileSync} from 'node:fs'
import {createRequire} from 'node:module'
import {dirname, join} from 'node:path'
import {pathToFileURL} from 'node:url'
import {expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'

const dist = pathToFileURL(join(packageRoot(), 'dist', '/')).href
const core = dirname(createRequire(import.meta.url).resolve('@tensorflow/tfjs-core/package.json'))

/** What a script prints that has `tf` and the library, as JSON. */
function result(script: string): unknown {
  const main = `
    import {attention, tf, useBackend} from '${dist}src/index.js'
    import '${dist}gradients.js'
    ${script}`
  const argv = ['--input-type=module', '--eval', main]
  return JSON.parse(execFileSync(process.execPath, argv, {cwd: packageRoot(), encoding: 'utf8'}))
}

it('registers every gradient that TensorFlow.js has', () => {
  const list = readFileSync(join(core, 'dist', 'register_all_gradients.js'), 'utf8')
  const files = [...list.matchAll(/from '\.\/(gradients\/\w+)'/g)].map(([, file]) => file!)
  expect(files.length).toBeGreaterThan(100)
  const kernels = files.map(file => {
    const text = readFileSync(join(core, 'dist', `${file}.js`), 'utf8')
    return text.match(/kernelName: (\w+)/)![1]!
  })
  const missing = result(`
    const missing = ${JSON.stringify(kernels)}.filter(name => !tf.getGradient(tf[name]))
    console.log(JSON.stringify(missing))`)
  expect(missing).toEqual([])
})

it('uses the one copy of TensorFlow.js: gradients are those of differences', () => {
  // central differences of step h err by h^2 |f'''| / 6 and by rounding, 2^-24 |f| / h: below 1e-3 of slopes near 0.1
  const [slope, difference] = result(`
    await useBackend('cpu')
    const random = seed => tf.randomNormal([1, 2, 7, 4], 0, 0.5, 'float32', seed)
    const [q, k, v] = [1, 2, 3].map(random)
    const loss = q => tf.sum(tf.square(attention(q, k, v, {method: 'favor-pos', numFeatures: 32})))
    const way = random(4)
    const slope = tf.sum(tf.mul(tf.grad(loss)(q), way)).dataSync()[0]
    const at = step => loss(tf.add(q, tf.mul(way, step))).dataSync()[0]
    console.log(JSON.stringify([slope, (at(0.01) - at(-0.01)) / 0.02]))`) as [number, number]
  expect(Math.abs(slope)).toBeGreaterThan(0.01)
  expect(Math.abs(slope - difference)).toBeLessThan(1e-3)
})
