// The board on a page that was made a file: its run stands in the page, and looks are answered here.

function startAlone() {
  const text = document.getElementById('run').textContent;
  const look = makeOffline(JSON.parse(text).ops);
  const nothing = () => {};
  startBoard(document.getElementById('board'), { value: text }, nothing, nothing, {
    look: async (asked) => JSON.stringify(look(asked)),
  });
}
