// Writes dist/gradients.js, the module `rfa/gradients`: the gradients of TensorFlow.js for Node. The package has them as
// modules that only bundlers can read, and leaves them out of the file that Node loads.
import {copyFileSync, readFileSync, writeFileSync} from 'node:fs'
import {createRequire} from 'node:module'
import {basename, dirname, join, sep} from 'node:path'
import {rolldown} from 'rolldown'

const CORE = '@tensorflow/tfjs-core'
const require = createRequire(import.meta.url)

/** What holds state, or is the same under another name: where the package itself has it. */
const HELD = {
  'base.js': `export * from '${CORE}'`,
  'engine.js': `import {engine} from '${CORE}'; export const ENGINE = engine()`,
  'environment.js': `export {env} from '${CORE}'`,
  'globals.js': `export {customGrad, dispose, keep, tidy} from '${CORE}'`,
  'kernel_names.js': `export * from '${CORE}'`,
  'kernel_registry.js': `export {registerGradient} from '${CORE}'`,
  'tensor.js': `import {Tensor} from '${CORE}'; export const getGlobalTensorClass = () => Tensor; export {Tensor}`,
  'util.js': utilities,
  'util_base.js': utilities,
}

/** The file next to it with the types of its exports. */
const TYPES = `/**
 * Registers the gradients of TensorFlow.js, so that \`tf.grad\` and \`tf.train\` work on attention: import it once, for what
 * it does. Fused kernels have gradients of their own, or step aside while gradients are recorded.
 *
 * @module rfa/gradients
 */
export {}
`

/**
 * Bundles the gradients, with the operations that they need and the package does not export, and its licence.
 *
 * @param root - folder of the package
 */
export async function writeGradients(root) {
  const source = join(dirname(require.resolve(`${CORE}/package.json`)), 'dist')
  const bundle = await rolldown({
    input: join(source, 'register_all_gradients.js'),
    platform: 'node',
    external: [CORE],
    plugins: [{name: 'one-core', load: id => replacement(source, id)}],
    onLog(level, log) {
      if (level === 'warn') throw new Error(`gradients: ${log.message}`)
    },
  })
  const licence = 'gradients-LICENSE'
  await bundle.write({
    file: join(root, 'dist', 'gradients.js'),
    banner: `// From ${CORE}, Copyright Google LLC, under the Apache License 2.0: see ${licence}.`,
    comments: {legal: true, annotation: false, jsdoc: false},
  })
  await bundle.close()
  writeFileSync(join(root, 'dist', 'gradients.d.ts'), TYPES)
  const apache = join(dirname(require.resolve('typescript/package.json')), 'LICENSE.txt')
  copyFileSync(apache, join(root, 'dist', licence))
}

/** What stands in for a module of the package: its own copy, where it exports all of it; nothing for the others. */
function replacement(source, id) {
  const [folder, name] = [dirname(id), basename(id)]
  if (folder === source && Object.hasOwn(HELD, name)) {
    const held = HELD[name]
    return typeof held === 'function' ? held() : held
  }
  if (folder !== join(source, 'ops') || !id.startsWith(source + sep)) return undefined
  const text = readFileSync(id, 'utf8')
  const names = [...text.matchAll(/^export (?:const|function|class) (\w+)/gm)].map(
    found => found[1],
  )
  const all = names.length > 0 && names.length === text.match(/^export /gm).length
  const own = require(CORE)
  if (!all || !names.every(one => Object.hasOwn(own, one))) return undefined
  return `export {${names.join(', ')}} from '${CORE}'`
}

function utilities() {
  const names = Object.keys(require(CORE).util).join(', ')
  return `import {util} from '${CORE}'; export const {${names}} = util`
}
