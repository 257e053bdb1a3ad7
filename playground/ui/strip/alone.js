// The board on a page that was made a file: its run stands in the page, and looks are answered here.

function startAlone() {
  const text = document.getElementById('run').textContent;
  const look = makeOffline(JSON.parse(text).ops);
  const nothing = () => {};
  startBoard(document.getElementById('board'), { value: text }, nothing, nothing, {
    look: async (asked) => JSON.stringify(look(asked)),
  });
  startSaving(document.querySelector('.save'));
}

// The whole trace, as `python -m playground --save` writes it.
function startSaving(button) {
  button.addEventListener('click', async () => {
    try {
      const link = el('a');
      link.href = URL.createObjectURL(new Blob([await unpacked('trace')], { type: 'application/json' }));
      link.download = button.dataset.name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    } catch (error) {
      button.textContent = 'Not available here: ' + error.message;
    }
  });
}
