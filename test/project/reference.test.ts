import {readdirSync, readFileSync, statSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'

const root = packageRoot()
const FOLDER = 'results/reference'

describe('results/reference', () => {
  const folders = readdirSync(join(root, FOLDER)).filter(name =>
    statSync(join(root, FOLDER, name)).isDirectory(),
  )

  it.each(folders)('%s is made by a part of npm run reference', name => {
    const script = readFileSync(join(root, 'scripts/reference.js'), 'utf8')
    expect(script).toMatch(new RegExp(`^  '?${name}'?(:|,)`, 'm'))
  })
})
