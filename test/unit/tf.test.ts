import {execFileSync} from 'node:child_process'
import {join} from 'node:path'
import {pathToFileURL} from 'node:url'
import * as core from '@tensorflow/tfjs-core'
import {expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'
import {tf} from '../../src/tf.js'

/** Runs a script in a process of its own, which has the built modules as `load(path)`. */
function inNewProcess(script: string): unknown {
  const dist = pathToFileURL(join(packageRoot(), 'dist', 'src', '/')).href
  const main = `
    import Module from 'node:module'
    const load = path => import('${dist}' + path)
    const tensorFlow = () => Object.keys(Module._cache).filter(path => path.includes('@tensorflow')).length
    ${script}`
  const argv = ['--input-type=module', '--eval', main]
  return JSON.parse(execFileSync(process.execPath, argv, {encoding: 'utf8'}))
}

it('is the package that everybody else imports', () => {
  expect(tf.add).toBe(core.add)
  expect(tf.Tensor).toBe(core.Tensor)
  expect(tf.engine()).toBe(core.engine())
  expect('nothing' in tf).toBe(false)
  expect((tf as unknown as Record<string, unknown>).nothing).toBeUndefined()
})

it('loads nothing until something of it is used, and then all of it', () => {
  const counts = inNewProcess(`
    const {tf} = await load('tf.js')
    const before = tensorFlow()
    const {add} = tf
    console.log(JSON.stringify([before, typeof add, tensorFlow() > 0]))`)
  expect(counts).toEqual([0, 'function', true])
})

it('is not loaded with the estimators, which plans are made of', () => {
  const found = inNewProcess(`
    const {loadEstimators, resolveOptions} = await load('attention/names.js')
    const estimators = await loadEstimators()
    for (const one of Object.values(estimators)) resolveOptions(one, 'exact')
    console.log(JSON.stringify([Object.keys(estimators).length > 20, tensorFlow()]))`)
  expect(found).toEqual([true, 0])
})
