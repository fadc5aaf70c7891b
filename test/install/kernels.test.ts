/** The kernels by themselves, `rfa-attention`, in projects of TypeScript and of JavaScript. `npm run test:install`. */
import {existsSync, readdirSync, readFileSync, statSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it, onTestFinished} from 'vitest'
import {packageRoot} from '../../src/package.js'
import {temporaryFolder} from '../helpers/folders.js'
import {newProject, run} from './projects.js'
import {INSTALL, type Row, releasePackage, tellTable} from './release.js'
import {environment} from './tools.js'

const folder = temporaryFolder()
/** A guard against hanging, in ms: registries may be slow. */
const PATIENCE = 30 * 60_000

const JAVASCRIPT = `
import 'rfa-attention/gradients'
import {attention, tf, useBackend} from 'rfa-attention'
import {softmaxAttention} from 'rfa-attention/attention'
import {neededFeatures, sumProduct} from 'rfa-attention/theory'

const {name} = await useBackend('auto')
const x = tf.randomNormal([1, 2, 16, 8], 0, 0.5, 'float32', 1)
const options = {method: 'favor-pos', numFeatures: 32, seed: 1}
const loss = query => tf.sum(attention(query, x, x, options))
const product = sumProduct('exp', new Float64Array(8).fill(0.3), new Float64Array(8).fill(0.2))
const features = neededFeatures({product, headDim: 8, relativeError: 0.1, rows: 'iid'})
console.log(name, tf.grad(loss)(x).shape, softmaxAttention(x, x, x, {scale: 1}).out.shape, features)
`

/** Files and bytes below a folder. */
function sizeOf(place: string): number {
  const files = readdirSync(place, {recursive: true, withFileTypes: true}).filter(entry =>
    entry.isFile(),
  )
  return files.reduce((sum, {parentPath, name}) => sum + statSync(join(parentPath, name)).size, 0)
}

describe.runIf(INSTALL)('rfa-attention', {timeout: PATIENCE}, () => {
  it('is installed without the program and used from TypeScript and JavaScript; both packages are measured', async () => {
    const env = {...environment(process.execPath, true), npm_config_prefer_offline: 'true'}
    const succeed = async (words: string[], cwd: string) => {
      const {status, said} = await run(words, cwd, env)
      expect(status, `${words.join(' ')}\n${said}`).toBe(0)
      return said
    }
    const rows: Row[] = []
    for (const args of [[], ['--kernels']]) {
      const tarball = releasePackage(folder, ...args)
      const lint = join(packageRoot(), 'node_modules', '.bin', 'publint')
      expect(await succeed([lint, tarball], folder)).toContain('All good!')
      const project = newProject(onTestFinished)
      await succeed(['npm', 'install', tarball, 'typescript@6'], project)
      const modules = join(project, 'node_modules')
      const [name] = args.length > 0 ? ['rfa-attention'] : ['rfa']
      const direct = Object.keys(
        JSON.parse(readFileSync(join(modules, name!, 'package.json'), 'utf8')).dependencies,
      )
      const bytes = sizeOf(modules) - sizeOf(join(modules, 'typescript'))
      const packed = `${(statSync(tarball).size / 1e6).toFixed(1)} MB packed`
      rows.push([name!, packed, `${(bytes / 1e6).toFixed(0)} MB`, `${direct.length} dependencies`])
      if (name === 'rfa') continue

      expect(direct.length).toBeLessThanOrEqual(7)
      expect(bytes).toBeLessThan(90e6)
      const engine = sizeOf(join(modules, '@tensorflow'))
      expect(engine).toBeLessThan(66e6)
      expect(existsSync(join(modules, '.bin', 'rfa'))).toBe(false)
      const main = readFileSync(join(project, 'main.ts'), 'utf8')
      writeFileSync(join(project, 'main.ts'), main.replaceAll("'rfa'", "'rfa-attention'"))
      await succeed(['npx', '--no', 'tsc'], project)
      expect(await succeed(['node', 'main.js'], project)).toContain('native')
      writeFileSync(join(project, 'use.js'), JAVASCRIPT)
      expect(await succeed(['node', 'use.js'], project)).toMatch(
        /^native \[ 1, 2, 16, 8 \] \[ 1, 2, 16, 8 \] \d+$/m,
      )
    }
    tellTable(rows)
  })
})
