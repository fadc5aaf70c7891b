/** scripts/pack.js and scripts/packed-manifest.js: package.json of the file that others install. */
import {spawnSync} from 'node:child_process'
import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'

const root = packageRoot()
const PACK = join(root, 'scripts', 'pack.js')
const {packedManifest} = await import(join(root, 'scripts', 'packed-manifest.js'))
const own = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const ENGINE = '@tensorflow/tfjs-node'

describe('the packed package.json', () => {
  it('has the engine as an optional peer, of the version that a checkout installs', () => {
    const {peerDependencies, peerDependenciesMeta, optionalDependencies} = packedManifest(own)
    expect(own.optionalDependencies).toHaveProperty([ENGINE])
    expect(peerDependencies).toEqual(own.optionalDependencies)
    expect(peerDependenciesMeta).toEqual({[ENGINE]: {optional: true}})
    expect(optionalDependencies).toBeUndefined()
  })

  it('has nothing else that is otherwise, but for what only a checkout needs', () => {
    const packed = packedManifest(own)
    const left = ['devDependencies', 'optionalDependencies', 'overrides', 'allowScripts', 'scripts']
    for (const [name, value] of Object.entries(own)) {
      if (!left.includes(name)) expect(packed[name], name).toEqual(value)
    }
    expect(packed.scripts).toEqual({install: own.scripts.install})
  })
})

describe('npm pack and npm publish of a checkout', () => {
  const prepack = (command: string) => {
    const env = {...process.env, npm_command: command}
    return spawnSync(process.execPath, [PACK, '--prepack'], {env, encoding: 'utf8'})
  }

  it.each(['pack', 'publish'])('npm %s is refused, naming the command to use', command => {
    const {status, stderr} = prepack(command)
    expect(status).toBe(1)
    expect(stderr).toContain('try: npm run pack (or pack:release')
    expect(own.scripts.prepack).toBe('node scripts/pack.js --prepack')
  })

  it('an installation from a repository is not', () => {
    expect(prepack('install')).toMatchObject({status: 0, stderr: ''})
  })
})
