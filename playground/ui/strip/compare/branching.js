// Rows of the tree of samples: a branch under the one that it leaves, the fuller one first. Pure.

// [{branch, depth, at}]; `at` is the place in the answer of the branch's first token.
function branchRows(root) {
  const rows = [];
  const add = (branch, depth, at) => {
    rows.push({ branch, depth, at });
    const children = [...branch.children].sort((one, other) => other.samples.length - one.samples.length);
    for (const child of children) add(child, depth + 1, at + branch.ids.length);
  };
  add(root, 0, 0);
  return rows;
}
