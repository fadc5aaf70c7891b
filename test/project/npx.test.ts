/** The first `npx rfa` in a checkout, for which npm runs the scripts of an installation again. */
import {spawnSync} from 'node:child_process'
import {existsSync, statSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'

const root = packageRoot()
const LISTING = join(root, 'oclif.manifest.json') // which every build writes anew
const ADDON = join(root, 'build', 'Release', 'rfa.node')

/** Runs a script as npm runs it for npx. */
function asNpx(event: string, script: string) {
  const env = {...process.env, npm_command: 'exec', npm_lifecycle_event: event}
  const {status, stdout, stderr} = spawnSync(process.execPath, [join(root, 'scripts', script)], {
    env,
    encoding: 'utf8',
  })
  return {status, said: stdout + stderr}
}

describe('npx in a checkout', () => {
  it('builds nothing that is built', () => {
    const {ino} = statSync(LISTING)
    expect(asNpx('prepare', 'build.js')).toEqual({status: 0, said: ''})
    expect(statSync(LISTING).ino).toBe(ino)
  })

  it.runIf(existsSync(ADDON))('leaves the addon that is there', () => {
    expect(asNpx('install', 'install-native.js')).toEqual({status: 0, said: ''})
  })
})
